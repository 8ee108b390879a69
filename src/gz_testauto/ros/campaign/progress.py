"""Publication of a campaign's progress on topics, and as one log line per trial."""

import math
from typing import Optional

import rospy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from gz_testauto.base.escaping import escape_text
from gz_testauto.base.ros_messages import header
from gz_testauto.campaign.progress import CampaignListener, CauseTexts, Progress
from gz_testauto.msg import CampaignProgress
from gz_testauto.results.records import TrialRecord
from gz_testauto.ros.campaign import interface
from gz_testauto.ros.graph import advertise
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.trial.trial import Trial


class ProgressPublisher(CampaignListener):
    """The publisher of ``~progress`` and ``/diagnostics``.

    The numbers per planner exclude trials of earlier runs of the node. The number of finished
    trials includes them.
    """

    def __init__(self, spec: CampaignSpec) -> None:
        self._topic = advertise(interface.PROGRESS, 10)
        self._diagnostics = advertise(interface.DIAGNOSTICS, 10)
        planners = [planner.name for planner in spec.planners]
        self._message = CampaignProgress(campaign=spec.name, planners=planners)
        self._message.reached, self._message.done = [0] * len(planners), [0] * len(planners)
        self._running_trial: Optional[Trial] = None
        self._causes = CauseTexts()

    def noticed(self, notice: str) -> None:
        rospy.logwarn("%s", notice)

    def began(self, progress: Progress) -> None:
        self._publish("preparing", "starting the simulator", progress)

    def trial_began(self, trial: Trial, progress: Progress) -> None:
        self._message.attempt = self._message.attempt + 1 if trial == self._running_trial else 1
        self._running_trial = trial
        self._message.world, self._message.planner = trial.world.name, trial.planner.name
        self._message.repetition = trial.repetition
        self._publish("running", f"{trial.label}, attempt {self._message.attempt}", progress)

    def trial_ended(self, record: TrialRecord, progress: Progress) -> None:
        index = self._message.planners.index(record.planner)
        self._message.done[index] += 1
        self._message.reached[index] += record.completed
        detail = self._causes.of_trial(record)
        line = f"{record.world} {record.planner}: {record.outcome.value}. {detail}"
        text, remaining_text = escape_text(line), _remaining_text(progress)
        rospy.loginfo("%d of %d: %s%s", progress.done, progress.total, text, remaining_text)
        self._publish("running", line, progress)

    def attempt_failed(self, trial: Trial, attempt: int, cause: str) -> None:
        self._message.invalid += 1
        text = escape_text(self._causes.of_attempt(trial, cause))
        rospy.logwarn("%s: attempt %d is invalid: %s", trial.label, attempt, text)

    def ended(self, progress: Progress) -> None:
        complete = progress.done >= progress.total
        self._message.world = self._message.planner = ""
        self._message.attempt = 0
        self._publish(
            "finished" if complete else "failed",
            f"{progress.done} of {progress.total} trials are done",
            progress,
        )

    def failed(self, reason: str) -> None:
        self._publish("failed", reason, None)

    def _publish(self, state: str, text: str, progress: Optional[Progress]) -> None:
        message = self._message
        message.header.stamp = rospy.Time.now()
        message.state, message.message = state, text
        if progress is not None:
            message.trials, message.finished = progress.total, progress.done
            message.elapsed = progress.elapsed_s
            remaining_s = progress.remaining_s
            message.remaining = math.nan if remaining_s is None else remaining_s
        self._topic.publish(message)
        self._diagnostics.publish(_diagnostics_message(message))


def _diagnostics_message(message: CampaignProgress) -> DiagnosticArray:
    level = DiagnosticStatus.OK
    if message.state == "failed":
        level = DiagnosticStatus.ERROR
    elif message.invalid:
        level = DiagnosticStatus.WARN
    values = {
        "trials": f"{message.finished} of {message.trials}",
        "invalid attempts": str(message.invalid),
        "world": message.world,
        "planner": message.planner,
    }
    for planner, reached_count, done_count in zip(message.planners, message.reached, message.done):
        values[f"{planner} reached"] = f"{reached_count} of {done_count}"
    status = DiagnosticStatus(
        level=level,
        name=f"gz_testauto: campaign {message.campaign}",
        message=f"{message.state}: {message.message}",
        values=[KeyValue(key, value) for key, value in values.items()],
    )
    return DiagnosticArray(header(message.header.stamp, ""), [status])


def _remaining_text(progress: Progress) -> str:
    if progress.remaining_s is None or progress.done >= progress.total:
        return ""
    minutes, seconds = divmod(round(progress.remaining_s), 60)
    return f" ({minutes}:{seconds:02d} min left)"
