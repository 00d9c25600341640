// How the page talks to the server behind it.

export class Refused extends Error {}

export async function models() {
  const response = await fetch("/api/models");
  return response.json();
}

export async function ask(what, request, signal) {
  let response;
  try {
    response = await fetch("/api/" + what, {
      method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(request), signal,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused("the server does not answer: check that `heatcheck serve` is still running.");
  }
  const found = await response.json();
  if (!response.ok) throw new Refused(found.error);
  return found;
}

// Only the newest request of a kind matters: an older one that is still running is aborted.
export function newest() {
  let current = null;
  return async (work) => {
    current?.abort();
    const mine = (current = new AbortController());
    try {
      const found = await work(mine.signal);
      return mine.signal.aborted ? undefined : found;
    } catch (error) {
      if (mine.signal.aborted || error.name === "AbortError") return undefined;
      throw error;
    }
  };
}

// While one request runs, only the last of the later ones is kept and sent next: for dragging.
export function paced(work) {
  let running = false;
  let again = false;
  return async function go() {
    if (running) { again = true; return; }
    running = true;
    try {
      do { again = false; await work(); } while (again);
    } finally { running = false; }
  };
}
