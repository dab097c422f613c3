"""What a harness knows about people: whose reports were acknowledged, whose may be stored, who was deleted."""

from __future__ import annotations

from bench.faults.collector import Answer, Connection

__all__ = ["People"]


class People:
    """The expected content of one store."""

    def __init__(self) -> None:
        self._next = 0
        self.acknowledged: set[int] = set()
        self.unknown: set[int] = set()
        """Sent, but the answer was an error or none."""

        self.deleted: set[int] = set()
        self.deleting: set[int] = set()
        """Asked to be deleted, but the answer was an error or none."""

    def new(self, count: int) -> list[int]:
        """Return people who have not reported yet."""
        self._next += count
        return list(range(self._next - count, self._next))

    def note(self, people: list[int], answer: Answer) -> None:
        """Note the answer to reports of some people."""
        known = set(people) if answer.status == 200 and set(answer.statuses) <= {"stored", "again"} else set()
        self.acknowledged |= known
        self.unknown = (self.unknown | set(people)) - self.acknowledged

    def note_deletion(self, person: int, answer: Answer) -> None:
        """Note the answer to a deletion."""
        if answer.status == 200 or answer.code == "nothing-to-delete":  # an earlier try has done it
            self.deleted.add(person)
            self.acknowledged.discard(person)
            self.deleting.discard(person)
        else:
            self.deleting.add(person)

    @property
    def least(self) -> int:
        """People that an answer must count."""
        return len(self.acknowledged - self.deleting)

    @property
    def most(self) -> int:
        """People that an answer may count."""
        return len((self.acknowledged | self.unknown) - self.deleted)

    def settle(self, collector: Connection) -> Answer:
        """Do again what was answered with an error, as clients do; return the last answer."""
        answer = Answer(200)
        for person in sorted(self.deleting):
            answer = collector.forget(person)
            self.note_deletion(person, answer)
            if answer.status != 200:
                return answer
        waiting = sorted(self.unknown)
        for start in range(0, len(waiting), 300):
            some = waiting[start : start + 300]
            answer = collector.send(some)
            self.note(some, answer)
            if answer.status != 200:
                return answer
        return answer
