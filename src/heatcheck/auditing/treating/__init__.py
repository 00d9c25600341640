"""Treatments judged: treated models beside untreated ones, line by line of the card."""
