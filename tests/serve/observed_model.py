"""A model whose training was observed, without the training: its weights grow from step to step."""

import torch

from heatcheck.data import load_task
from heatcheck.models.model_folder import save
from heatcheck.training import Observer, build, plan_observe, plan_recipe

STEPS = (0, 3, 8, 20)


def observed_model(folder, corpus=None, steps=STEPS, encoder="gru", **observe):
    """The subject, saved in a folder with what it said of some texts after each step."""
    corpus = corpus or load_task("planted_keyword")
    planned = plan_observe(list(steps), **{"examples": 12, **observe})
    recipe = plan_recipe(corpus, observe=planned, encoder=encoder, hidden=6, embedding=6, embedding_scale=1.0)
    subject = build(recipe, corpus).eval()
    observer = Observer(subject, corpus, recipe, folder)
    for step in steps:
        observer.after(step)
        with torch.no_grad():
            for parameter in subject.parameters():
                parameter.mul_(1.6)
    save(subject, folder)
    return subject
