"""Tests the answers of a service, `kefu test`: a case has runs, a run has answers with failures.

- `cases` come from files (`questions`), from the set for attackers (`redteam`) or from stored chats
  (`stored`).
- `run` asks a service (`ask`), for which a model may play the visitor (`visitor`).
- `checks` names each expectation that does not hold; a model may judge (`judge`).
- `results` are written by `report` and `markdown`, and kept for the next run by `comparison`.

`recorded` has the requests of the past, for `kefu replay`.
"""
