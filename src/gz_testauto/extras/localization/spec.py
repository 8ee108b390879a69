"""The keys of the estimates ``drift`` (odometry), ``corrected`` (odometry with a localizer) and
``recorded`` (the errors of a recording) in ``localization:`` of a campaign."""

from typing import Optional, Tuple

from pydantic import AfterValidator, BeforeValidator, Field
from typing_extensions import Annotated, Literal

from gz_testauto.actors.localization import EstimatorInputs
from gz_testauto.base.errors import SpecError
from gz_testauto.extras.localization.estimator import (
    CorrectedOdometry,
    CorrectionErrors,
    LostPeriods,
)
from gz_testauto.extras.localization.odometry import (
    GyroErrors,
    OdometryErrors,
    OdometryInputs,
    OdometryModel,
    SlipErrors,
)
from gz_testauto.extras.localization.recorded import RecordedErrors, read_errors
from gz_testauto.sampling.seeds import LOCALIZATION, child_generator
from gz_testauto.spec.distributions import (
    Distribution,
    Fixed,
    PositiveDistribution,
    ShareDistribution,
    is_constant,
)
from gz_testauto.spec.localization import LocalizationSpec
from gz_testauto.spec.model import NotNegative, Positive, Spec, SpecPath, as_tuple, fault

MOST_RELATIVE = 0.5  # limit of the relative error of a wheel radius or of the track width
MOST_SLIP = 0.9


def _require_small_support(distribution: Distribution) -> Distribution:
    for bound in distribution.support:
        if abs(bound) > MOST_RELATIVE:
            problem = f"{'is' if is_constant(distribution) else 'can be'} {bound:g}"
            raise fault(f"{problem}; it must be from {-MOST_RELATIVE:g} to {MOST_RELATIVE:g}")
    return distribution


Relative = Annotated[Distribution, AfterValidator(_require_small_support)]
"""A relative error: 0.01 means 1 % too large."""
Alpha = Annotated[
    Tuple[NotNegative, NotNegative, NotNegative, NotNegative], BeforeValidator(as_tuple)
]
NONE = Fixed(value=0.0)


class SlipSpec(Spec):
    """Patches of ground on which one wheel slips: it turns more than it moves forward. The wheel is
    drawn for each patch."""

    every_m: Positive
    """Mean distance (m) that the robot drives between two patches."""
    length_m: PositiveDistribution = Fixed(value=0.2)
    """Length (m) of a patch."""
    share: ShareDistribution
    """Share of the wheel's turning that does not move the robot, at most 0.9 after scaling."""


class GyroSpec(Spec):
    """A gyroscope, whose yaw rate replaces that of the wheels. The robot must have an IMU."""

    bias_radps: Distribution = NONE
    """Constant error (rad/s) of the yaw rate."""
    noise_radps: NotNegative = 0.0
    """Noise density of the yaw rate (rad/s per square root of Hz). The heading after t seconds has
    a standard deviation of this value times the square root of t."""


class OdometryErrorSpec(Spec):
    """The errors of the odometry of a differential drive.

    The random errors are those of the odometry motion model of Thrun, Burgard and Fox
    (Probabilistic Robotics, 2005, table 5.6) with intervals of 0.2 m and 30 degrees, as by default
    in amcl. The variances are proportional to the motion, and do not depend on the control period.
    """

    alpha: Alpha = (0.002, 0.002, 0.002, 0.002)
    """Coefficients ``odom_alpha1`` to ``odom_alpha4`` of amcl: the variance of a rotation caused by
    rotation and by translation, and that of a translation caused by translation and by rotation."""
    left_wheel_radius: Relative = NONE
    """Relative error of the assumed radius of the left wheels."""
    right_wheel_radius: Relative = NONE
    """Relative error of the assumed radius of the right wheels."""
    track_width: Relative = NONE
    """Relative error of the assumed distance between the left and the right wheels."""
    slip: Optional[SlipSpec] = None
    """Slip of single wheels; default: none."""
    gyro: Optional[GyroSpec] = None
    """A gyroscope with errors; default: the yaw rate of the wheels."""

    @property
    def is_exact(self) -> bool:
        fixed = [self.left_wheel_radius, self.right_wheel_radius, self.track_width]
        gyro = self.gyro
        if gyro is not None:
            fixed.append(gyro.bias_radps)
        return (
            not any(self.alpha)
            and all(error.support == (0.0, 0.0) for error in fixed)
            and (self.slip is None or self.slip.share.support == (0.0, 0.0))
            and (gyro is None or not gyro.noise_radps)
        )

    def draw(self, inputs: EstimatorInputs) -> OdometryInputs:
        """Draw the errors of one trial. Raises ``SpecError`` if the robot has no drive controller
        or, for ``gyro``, no IMU."""
        if inputs.wheel_separation_m is None:
            raise SpecError(
                f"localization.odometry: the robot {inputs.robot!r} has no drive controller, so "
                "the distance between its wheels is unknown; use another robot, or remove "
                "'localization'"
            )
        if self.gyro is not None and not inputs.has_imu:
            raise SpecError(
                f"localization.odometry.gyro: the robot {inputs.robot!r} has no IMU; remove "
                "'gyro', or add an imu sensor to its model"
            )
        numbers, scale = inputs.random_numbers, inputs.scale
        path = (LOCALIZATION, inputs.robot, numbers.world, numbers.repetition)
        constant = child_generator(numbers.seed, *path, "constant")

        def draw_constant(distribution: Distribution) -> float:
            return scale * float(distribution.quantile(float(constant.random())))

        left, right, track = map(
            draw_constant, (self.left_wheel_radius, self.right_wheel_radius, self.track_width)
        )
        a1, a2, a3, a4 = self.alpha
        gyro: Optional[GyroErrors] = None
        if self.gyro is not None:
            gyro = GyroErrors(draw_constant(self.gyro.bias_radps), scale * self.gyro.noise_radps)
        slip: Optional[SlipErrors] = None
        if self.slip is not None:
            spec = self.slip

            def draw_section(length: float, share: float) -> Tuple[float, float]:
                lost = scale * float(spec.share.quantile(share))
                return float(spec.length_m.quantile(length)), min(MOST_SLIP, lost)

            slip = SlipErrors(
                spec.every_m, draw_section, child_generator(numbers.seed, *path, "slip")
            )
        return OdometryInputs(
            OdometryErrors(
                alpha=(scale**2 * a1, scale**2 * a2, scale**2 * a3, scale**2 * a4),
                left_radius=left,
                right_radius=right,
                track_width=track,
                wheel_separation_m=inputs.wheel_separation_m,
                gyro=gyro,
            ),
            child_generator(numbers.seed, *path, "odometry"),
            slip,
        )


class OutlierSpec(Spec):
    """Corrections with a larger error, as if the localizer confused two similar places."""

    share: Annotated[float, Field(ge=0, le=1)]
    """Share of the corrections that are outliers."""
    position_m: NotNegative
    """Standard deviation (m) of the position error along x and along y."""
    yaw_rad: NotNegative = 0.0
    """Standard deviation (rad) of the heading error."""


class LostSpec(Spec):
    """Periods in which the localizer is lost and reports no correction. It recovers with the first
    correction afterwards."""

    every_s: Positive
    """Mean simulated time (s) between two periods."""
    duration_s: PositiveDistribution
    """Duration (s) of a period."""


class CorrectionsSpec(Spec):
    """The localizer of ``corrected``. Each correction moves the odometry frame in the map, so that
    the odometry at the time of the measurement is at the measured pose, as in amcl."""

    rate_hz: Positive = 1.0
    """Rate (Hz) of corrections in simulated time. Each control period has at most one
    correction."""
    position_m: NotNegative = 0.05
    """Standard deviation (m) of the position error of a correction along x and along y."""
    yaw_rad: NotNegative = 0.02
    """Standard deviation (rad) of the heading error of a correction."""
    delay_s: NotNegative = 0.0
    """Time (s) between a measurement and its correction."""
    outliers: Optional[OutlierSpec] = None
    """Corrections with a larger error; default: none."""
    lost: Optional[LostSpec] = None
    """Periods without corrections; default: none."""

    @property
    def is_exact(self) -> bool:
        outliers = self.outliers
        return not (self.position_m or self.yaw_rad) and (
            outliers is None or not outliers.share or not (outliers.position_m or outliers.yaw_rad)
        )


class DriftSpec(LocalizationSpec):
    """The planner receives the pose of the odometry, which starts at the true pose and is never
    corrected."""

    estimate: Literal["drift"]
    odometry: OdometryErrorSpec = OdometryErrorSpec()
    """The errors of the odometry."""

    @property
    def is_true(self) -> bool:
        return self.scale == 0.0 or self.odometry.is_exact

    def estimator(self, inputs: EstimatorInputs) -> OdometryModel:
        return OdometryModel(self.odometry.draw(inputs))


class CorrectedSpec(DriftSpec):
    """The planner receives the pose of the odometry, corrected by a localizer with errors."""

    estimate: Literal["corrected"]  # type: ignore[assignment]
    corrections: CorrectionsSpec = CorrectionsSpec()
    """The corrections of the localizer."""

    @property
    def is_true(self) -> bool:
        return super().is_true and (self.scale == 0.0 or self.corrections.is_exact)

    def estimator(self, inputs: EstimatorInputs) -> CorrectedOdometry:
        spec, numbers, scale = self.corrections, inputs.random_numbers, inputs.scale
        path = (LOCALIZATION, inputs.robot, numbers.world, numbers.repetition)
        usual = (scale * spec.position_m, scale * spec.yaw_rad)
        share, outlier = 0.0, usual
        if spec.outliers is not None:
            share = spec.outliers.share
            outlier = (scale * spec.outliers.position_m, scale * spec.outliers.yaw_rad)
        lost: Optional[LostPeriods] = None
        if spec.lost is not None:
            duration_s = spec.lost.duration_s.quantile
            generator = child_generator(numbers.seed, *path, "lost")
            lost = LostPeriods(spec.lost.every_s, duration_s, generator)
        errors = CorrectionErrors(spec.rate_hz, spec.delay_s, usual, share, outlier)
        generator = child_generator(numbers.seed, *path, "corrections")
        return CorrectedOdometry(self.odometry.draw(inputs), errors, generator, lost)


class RecordedErrorsSpec(LocalizationSpec):
    """The planner receives the true pose plus the errors of a recording, such as those that
    ``world-from-bag`` writes. They depend only on the time since the start of the trial."""

    estimate: Literal["recorded"]  # type: ignore[assignment]
    errors: SpecPath
    """A CSV file with the columns ``time,x,y,yaw``: the time (s) since the start of the trial, and
    the errors of x, y (m) and yaw (rad) in the map frame at this time, which are interpolated."""

    @property
    def is_true(self) -> bool:
        return self.scale == 0.0

    def estimator(self, inputs: EstimatorInputs) -> RecordedErrors:
        errors = read_errors(self.errors)
        errors[:, 1:] *= inputs.scale
        return RecordedErrors(errors)
