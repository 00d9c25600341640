"""What a person does on the local page, and what he sees there."""

TEXT = "a good film but a dull end"


def probabilities(page):
    return [float(node.get_attribute("data-probability")) for node in page.query_selector_all("#labels b")]


def weights(page):
    return [float(bar.get_attribute("aria-valuenow")) for bar in page.query_selector_all("#bars .pull")]


def drag(page, place, to):
    """Pulls a bar to a weight, as a hand does: down on it, some way, and up."""
    box = page.query_selector_all("#bars .pull")[place].bounding_box()
    across = box["x"] + box["width"] / 2
    page.mouse.move(across, box["y"] + box["height"] - 3)
    page.mouse.down()
    page.mouse.move(across, box["y"] + box["height"] - 20, steps=3)
    page.mouse.move(across, box["y"] + box["height"] - 1 - to**0.5 * 70, steps=4)
    page.mouse.up()
    page.wait_for_function("() => document.getElementById('moved').textContent !== ''")


def settled(page, wanted, tolerance=2e-4):
    """Waits until the page shows these probabilities."""
    page.wait_for_function(
        "([wanted, tolerance]) => { const shown = [...document.querySelectorAll('#labels b')]"
        ".map((node) => Number(node.dataset.probability));"
        "return shown.length === wanted.length && shown.every((p, at) => Math.abs(p - wanted[at]) < tolerance); }",
        arg=[wanted, tolerance],
        timeout=10_000,
    )


def box(page, selector):
    """Where an element stands in the window."""
    return page.locator(selector).first.bounding_box()


def in_sight(page, selector):
    """Whether all of an element is in the window."""
    found, height = box(page, selector), page.viewport_size["height"]
    return found["y"] >= 0 and found["y"] + found["height"] <= height


def tab_to(page, selector):
    """Goes forward by Tab until an element has the focus."""
    for _ in range(90):
        if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not come to {selector}")
