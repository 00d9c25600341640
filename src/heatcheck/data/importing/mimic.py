"""Imports `mimic_diabetes` and `mimic_anemia`: discharge summaries of MIMIC-III, labelled by ICD-9 codes of the stay.

The tables are for credentialed users only. NOTEEVENTS is 4 GB: it is read row by row, and only the summaries of
admissions that are wanted are kept.
"""

import hashlib
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from heatcheck.data.importing.distribution import Distribution
from heatcheck.data.importing.importer import Excluded, Importer, Row
from heatcheck.data.tokens import tokenize
from heatcheck.errors import BadInput

HIDDEN = "deidentified"  # stands for [** … **], and stays one token however the text is cut
NUMBER = "qqq"

_BRACKETS = re.compile(r"\[\*\*.*?\*\*\]", re.DOTALL)
_RUN = re.compile(r"([\W_])\1+")
_DIGITS = re.compile(r"\w*\d\w*(?:[.,:/-]\w*\d\w*)*")  # 12.5, 120/80, 12:30pm, 5mg and b12 are one number each


def clean(text: str) -> str:
    """Cleaned as in the specification: brackets to one marker, runs squeezed, digits to qqq, words apart, lower case.

    >>> clean("Pt [**Name 3**] took  ASA 81mg;;; BP 120/80.\\n-----\\nB12 given on [**2101-1-2**]")
    'pt deidentified took asa qqq ; bp qqq . - qqq given on deidentified'
    """
    text = _RUN.sub(r"\1", _BRACKETS.sub(f" {HIDDEN} ", text))
    return " ".join(token for token, _ in tokenize(_DIGITS.sub(NUMBER, text), "words"))


class Note(NamedTuple):
    """A summary or an addendum to one; sorted, they stand as they were written."""

    addendum: bool
    date: str
    number: int
    text: str


class Admission(NamedTuple):
    """Where an admission belongs, or (`reason`) why it is in no row."""

    split: str = ""
    label: int = 0
    reason: str = ""


Place = Callable[[str, str], Admission]  # of an admission and its patient


def _rows(distribution: Distribution, task: str, names: tuple[str, str], place: Place) -> Iterator[Row | Excluded]:
    """Each wanted admission with all its summaries, by the number of the admission."""
    notes: dict[str, list[Note]] = {}
    patient_of: dict[str, str] = {}
    columns = ("ROW_ID", "SUBJECT_ID", "HADM_ID", "CHARTDATE", "CATEGORY", "DESCRIPTION", "ISERROR", "TEXT")
    with distribution.only(r"NOTEEVENTS\.csv(?:\.gz)?", "NOTEEVENTS.csv") as member:
        for where, values in member.table(*columns):
            if values["CATEGORY"].strip().lower() != "discharge summary":
                yield Excluded("not a discharge summary")
            elif values["ISERROR"].strip() in ("1", "1.0"):
                yield Excluded("marked as an error")
            elif not values["HADM_ID"].strip():
                yield Excluded("of no admission")
            else:
                admission, patient = _number(values, "HADM_ID", where), _number(values, "SUBJECT_ID", where)
                reason = place(admission, patient).reason
                text = "" if reason else clean(values["TEXT"])
                if reason or not text:
                    yield Excluded(reason or "without a word")
                    continue
                if patient_of.setdefault(admission, patient) != patient:
                    raise BadInput(f"{where}: admission {admission} belongs to another patient in an earlier row.")
                addendum = values["DESCRIPTION"].strip().lower() == "addendum"
                row = int(_number(values, "ROW_ID", where))
                notes.setdefault(admission, []).append(Note(addendum, values["CHARTDATE"], row, text))
    for admission in sorted(notes, key=int):
        found = place(admission, patient_of[admission])
        yield {
            "id": f"{task}-{admission}",
            "split": found.split,
            "text": " ".join(note.text for note in sorted(notes[admission])),
            "label": found.label,
            "label_name": names[found.label],
        }
        if len(notes[admission]) > 1:
            yield Excluded("more summaries of an admission, merged into its row", len(notes[admission]) - 1)


def _codes(distribution: Distribution) -> dict[str, set[str]]:
    """ICD-9 codes of each admission; the table writes them without the dot."""
    codes: dict[str, set[str]] = {}
    with distribution.only(r"DIAGNOSES_ICD\.csv(?:\.gz)?", "DIAGNOSES_ICD.csv") as member:
        for where, values in member.table("HADM_ID", "ICD9_CODE"):
            if code := values["ICD9_CODE"].strip().replace(".", ""):
                codes.setdefault(_number(values, "HADM_ID", where), set()).add(code)
    return codes


def _number(values: dict[str, str], column: str, where: str) -> str:
    number = values[column].strip().removesuffix(".0")  # as a data frame with holes writes it
    if not number.isdecimal():
        raise BadInput(f"{where}: {column} must be a number, not {values[column]!r}.")
    return number


def _lists(distribution: Distribution) -> dict[str, str]:
    """The split of each admission in the lists of CAML's 50 commonest codes."""
    side: dict[str, str] = {}
    for split in ("train", "dev", "test"):
        with distribution.only(rf"{split}_50_hadm_ids\.csv", f"{split}_50_hadm_ids.csv") as member:
            for number, line in member.lines():
                admission = line.strip().strip('"')
                if not admission or (number == 1 and admission.upper() == "HADM_ID"):
                    continue
                where = f"{member.where}, line {number}"
                admission = _number({"HADM_ID": admission}, "HADM_ID", where)
                if side.setdefault(admission, split) != split:
                    raise BadInput(f"{where}: admission {admission} is also in the {side[admission]} list.")
    return side


def _read_diabetes(distribution: Distribution) -> Iterator[Row | Excluded]:
    side, codes = _lists(distribution), _codes(distribution)
    seen: set[str] = set()

    def place(admission: str, _: str) -> Admission:
        if admission not in side:
            return Admission(reason="of an admission in none of CAML's top-50 lists")
        if admission not in codes:
            return Admission(reason="of an admission without a diagnosis")
        seen.add(admission)
        return Admission(side[admission], int(any(code.startswith("25000") for code in codes[admission])))

    yield from _rows(distribution, "mimic_diabetes", ("no diabetes", "diabetes"), place)
    if missing := len(side.keys() - seen):
        yield Excluded("admission of CAML's lists without a usable summary", missing)


def _read_anemia(distribution: Distribution) -> Iterator[Row | Excluded]:
    codes = _codes(distribution)

    def place(admission: str, patient: str) -> Admission:
        acute = any(code.startswith("2851") for code in codes.get(admission, ()))
        chronic = any(code.startswith("2852") for code in codes.get(admission, ()))
        if acute == chronic:
            kind = "both acute (285.1) and chronic (285.2)" if acute else "neither acute (285.1) nor chronic (285.2)"
            return Admission(reason=f"of an admission with {kind} anemia")
        return Admission(_side(patient), int(acute))

    yield from _rows(distribution, "mimic_anemia", ("chronic", "acute"), place)


def _side(patient: str) -> str:
    """68/12/20 as in Jain & Wallace, but by the hash of the patient.

    Their draw was over admissions, so that one patient could stand in train and in test; and it hung on the order of
    a data frame, which cannot be redone.
    """
    part = int(hashlib.sha256(f"mimic_anemia {patient}".encode()).hexdigest(), 16) % 100
    return "test" if part < 20 else "dev" if part < 32 else "train"


_SOURCE = "MIMIC-III 1.4 on PhysioNet, for credentialed users"
mimic_diabetes = Importer(
    "mimic_diabetes",
    ("mimic_diabetes",),
    "mimic_diabetes.jsonl.gz",
    f"{_SOURCE}; the lists are in the CAML repository (Mullenbach et al. 2018)",
    "NOTEEVENTS.csv and DIAGNOSES_ICD.csv (or .csv.gz), and train_50_hadm_ids.csv, dev_50_hadm_ids.csv and "
    "test_50_hadm_ids.csv, in a folder",
    _read_diabetes,
)
mimic_anemia = Importer(
    "mimic_anemia",
    ("mimic_anemia",),
    "mimic_anemia.jsonl.gz",
    _SOURCE,
    "NOTEEVENTS.csv and DIAGNOSES_ICD.csv (or .csv.gz), in a folder",
    _read_anemia,
)
