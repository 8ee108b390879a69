"""Results of a campaign, written as one letter per trial."""

from gz_testauto.results.records import CampaignResults, TrialRecord
from gz_testauto.trial.outcome import Outcome
from gz_testauto.worlds.record import WorldRecord

LETTERS = {
    "R": Outcome.REACHED,
    "C": Outcome.COLLIDED,
    "S": Outcome.STUCK,
    "I": Outcome.INVALID,
}


def campaign(length=lambda planner, world: 10.0 + world, **ended):
    """One letter per trial; words, separated by spaces, are worlds with repetitions."""
    trials, worlds = [], set()
    for planner, letters in ended.items():
        words = letters.split() if " " in letters else list(letters)
        for world, word in enumerate(words):
            worlds.add(world)
            for repetition, letter in enumerate(word):
                outcome = LETTERS[letter]
                reached = outcome is Outcome.REACHED
                metrics = {
                    "distance_m": length(planner, world) if reached else 1.0,
                    "spl": 0.9 if reached else 0.0,
                }
                trials.append(
                    TrialRecord(
                        len(trials),
                        f"w{world}",
                        world,
                        planner,
                        repetition,
                        0,
                        outcome,
                        "",
                        1,
                        1.0,
                        "",
                        metrics={} if outcome is Outcome.INVALID else metrics,
                    )
                )
    records = tuple(WorldRecord(world, f"w{world}", "", "") for world in sorted(worlds))
    return CampaignResults("c", tuple(ended), records, len(trials), tuple(trials))
