"""Names of array axes (`example`, `token`, `label`, …): one vocabulary for the shapes in all signatures.

Shapes stand in signatures as jaxtyping strings made of these words, and pytest enforces them;
a test fails on a word that is not here.
"""

AXES = {
    "example": "one text (or pair of texts) of a batch or a data set",
    "decision": "one answer the model gives about an example: 1, or one a label, target step or token",
    "label": "the alternatives of a decision; logits over it go through a softmax",
    "token": "a position in the model's input, padding included",
    "word": "a word of the text as the user wrote it; one or more tokens",
    "gap": "a run of tokens left out of an example, each at a time of its own",
    "segment": "first or second text of a pair",
    "layer": "a layer of a deep model",
    "head": "one of several parallel attentions at a site",
    "query": "who attends: 1 for a classifier, one a label, target step or token",
    "key": "what is attended to: the tokens",
    "offset": "how many tokens before its query a key stands; negative: behind it",
    "feature": "coordinates of an embedding, a state or a context",
    "size": "coordinates of an encoder's state, where its input has another width",
    "asked": "coordinates of a question's summary",
    "draw": "one of several random repetitions, or of several alternatives tried on the same example",
    "removal": "a set of words taken out of an example",
    "text": "a text made from an example, or an example that is left in",
    "run": "neighbouring words that are marked together",
    "model": "one of several models that are trained side by side, each with weights and data of its own",
    "seed": "one of several fits that differ in their seed alone",
    "output": "a number that a linear output gives, or a score",
    "row": "one of several quantities of the same tokens",
    "item": "whatever is ranked or compared, when a function does not care",
    "column": "several quantities of the same examples, side by side",
}
