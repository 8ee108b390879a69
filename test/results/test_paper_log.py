from scripted import record

from gz_testauto.base.pose import Pose2D
from gz_testauto.results.paper_log import CampaignLog, world_number
from gz_testauto.trial.outcome import Outcome


def goals_in(world):
    return (Pose2D(-22.0, 22.0),)


def test_the_lines_have_the_format_of_the_paper(tmp_path):
    log = CampaignLog(tmp_path / "campaign.log", goals_in)
    log.rewrite([])
    reached = {"distance_m": 35.07264, "cycle_mean_s": 0.000562011}
    log.add(record(137, outcome=Outcome.REACHED, metrics=reached))
    log.add(record(138, metrics={"distance_m": 20.0, "cycle_mean_s": 0.000753994}))
    assert (tmp_path / "campaign.log").read_text() == (
        "# fgm\n"
        "Simulation Started! || Goal successfully published at (-22.0, 22.0) in world 137\n"
        "Goal Reached! Total distance traveled is: 35.0726 || "
        "Avg execution time per cycle is: 0.000562011\n"
        "\n"
        "# fgm\n"
        "Simulation Started! || Goal successfully published at (-22.0, 22.0) in world 138\n"
        "Collision occured! || Avg execution time per cycle is: 0.000753994\n"
        "\n"
    )


def test_several_goals_are_in_one_line(tmp_path):
    log = CampaignLog(tmp_path / "campaign.log", lambda _: (Pose2D(1.0, 2.0), Pose2D(3.0, 4.0)))
    log.rewrite([record(7)])
    said = (tmp_path / "campaign.log").read_text()
    assert "Goal successfully published at (1.0, 2.0), (3.0, 4.0) in world 7\n" in said


def test_every_outcome_has_a_line(tmp_path):
    log = CampaignLog(tmp_path / "campaign.log", goals_in)
    log.rewrite([record(index, outcome=outcome) for index, outcome in enumerate(Outcome)])
    text = (tmp_path / "campaign.log").read_text()
    assert text.count("Simulation Started!") == len(Outcome)
    assert text.count("\n\n") == len(Outcome)
    assert "Trial invalid! || touched a box" in text


def test_rewriting_closes_the_gap_that_a_killed_runner_left(tmp_path):
    path = tmp_path / "campaign.log"
    log = CampaignLog(path, goals_in)
    log.rewrite([record(0), record(1)])
    whole = path.read_text()
    path.write_text(whole + "# fgm\nSimulation Sta")
    log.rewrite([record(0), record(1)])
    assert path.read_text() == whole


def test_a_world_is_known_by_the_number_in_its_name():
    assert world_number("world_0007", 3) == "7"
    assert world_number("world_0000", 3) == "0"
    assert world_number("warehouse", 3) == "3"
    assert world_number("w" + "9" * 5000, 3) == "9" * 5000
