"""Execution of trials by the workers of a Dask cluster, which is local or provided by the user.

Each worker runs one trial at a time, and must have the same code and worlds. If it dies, only its
attempt is lost. If the scheduler stops, the campaign stops and can be resumed.
"""

import contextlib
import threading
import time
import uuid
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Set, Tuple, Type

from gz_testauto import __version__
from gz_testauto.base.errors import ResultsError, SimulatorError
from gz_testauto.base.installation import importing
from gz_testauto.results.attempts import FAILURES
from gz_testauto.results.comparability import file_sha256
from gz_testauto.results.inputs import further_files
from gz_testauto.trial.executor import (
    SimulatorIdentity,
    StopRequest,
    TrialResult,
    TrialStopped,
)
from gz_testauto.trial.testbed import TestBed
from gz_testauto.trial.trial import Trial
from gz_testauto.workers.interface import (
    CLOSE_TIMEOUT_S,
    Attempt,
    ExecutorFactory,
    RenewableExecutor,
    WorkerPool,
    require_own_simulators,
)

CONNECTING_S = 30.0
NO_WORKER_S = 60.0  # wall time without workers after which the campaign stops

_POLL_S = 0.2


@dataclass(frozen=True, eq=False)
class Assignment:
    """The data that a worker needs to run trials of a campaign, and the code that it must have.
    ``files`` are hashes of the planners' code and the robot's meshes."""

    make_executor: ExecutorFactory
    bed: TestBed
    version: str
    files: Mapping[str, str]
    token: str = field(default_factory=lambda: uuid.uuid4().hex)


class DaskWorkers(WorkerPool):
    """The workers of a Dask cluster, each of which runs one trial at a time."""

    def __init__(
        self,
        make_executor: ExecutorFactory,
        bed: TestBed,
        scheduler: Optional[str] = None,
        size: int = 1,
    ) -> None:
        """Check the campaign, without starting a process. Without the address of a scheduler,
        :meth:`open` starts one on loopback. Raises ``MissingDependencyError`` without Dask."""
        super().__init__()
        require_own_simulators(bed.spec)
        make_executor(bed)  # raises the errors that it would otherwise raise in every worker
        self._distributed = _import_distributed()
        self._scheduler = scheduler
        self._local_size = size
        self._hang_timeout_s = bed.spec.limits.hang_timeout_s
        files = further_files(bed.spec, bed.robot)
        self._assignment = Assignment(make_executor, bed, __version__, files)
        self._cluster: Any = None
        self._client: Any = None
        self._under_way: Dict[Any, _SubmittedTrial] = {}
        self._alone_since_s: Optional[float] = None

    @property
    def size(self) -> int:  # type: ignore[override]
        with self._reporting():
            return max(len(self._addresses()), 1)

    def open(self, should_stop: StopRequest) -> None:
        with self._reporting():
            if self._scheduler is None:
                self._cluster = self._distributed.LocalCluster(
                    n_workers=self._local_size,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                )
            self._client = self._distributed.Client(
                self._scheduler or self._cluster, timeout=CONNECTING_S, set_as_default=False
            )
            addresses = self._addresses()
            if not addresses:
                raise SimulatorError(
                    f"{self._scheduler_name} has no workers; start at least one with 'dask worker'"
                )
            identities = self._open_on(addresses, should_stop)
        first = next(iter(identities))
        self._identity = identities[first]
        for address, identity in identities.items():
            if identity != self._identity:
                raise ResultsError(
                    f"Dask's worker {address} has {identity.name} {identity.version}, but worker "
                    f"{first} has {self._identity.name} {self._identity.version}; all workers of a "
                    "campaign must have the same simulator"
                )

    def close(self) -> None:
        """Close the simulators, and the cluster if :meth:`open` started it."""
        if self._client is not None:
            self._request_stop()
            with contextlib.suppress(*self._lost):
                self._wait(list(self._under_way), CLOSE_TIMEOUT_S)
                token = self._assignment.token
                closing = [
                    self._submit(_close_executor, where, token) for where in self._addresses()
                ]
                self._wait(closing, CLOSE_TIMEOUT_S)
            self._client.close(timeout=CLOSE_TIMEOUT_S)
        if self._cluster is not None:
            with contextlib.suppress(*self._lost):
                self._cluster.close(timeout=CLOSE_TIMEOUT_S)
        self._client = self._cluster = None
        self._under_way.clear()

    def worker_of(self, trial: Trial) -> str:
        addresses = (task.address for task in self._under_way.values() if task.trial == trial)
        return next(addresses, "")

    @property
    def _is_busy(self) -> bool:
        return bool(self._under_way)

    def _poll(self) -> Optional[Attempt]:
        with self._reporting():
            attempt = self._ended()
        if attempt is None and self._under_way:
            self._wait(list(self._under_way), _POLL_S, "FIRST_COMPLETED")
        elif attempt is None:
            time.sleep(_POLL_S)
        return attempt

    @property
    def _lost(self) -> Tuple[Type[BaseException], ...]:
        """Return the types of exceptions that Dask raises if the scheduler no longer responds."""
        return OSError, self._distributed.TimeoutError, self._distributed.CancelledError

    @property
    def _scheduler_name(self) -> str:
        return f"the Dask scheduler {self._scheduler or 'of this campaign'}"

    def _addresses(self) -> List[str]:
        """Return the addresses of the connected workers, or none before :meth:`open`."""
        if self._client is None:
            return []
        return sorted(self._client.nthreads())

    def _open_on(
        self, addresses: List[str], should_stop: StopRequest
    ) -> Dict[str, SimulatorIdentity]:
        """Start a simulator on each worker, and return the simulators' identities by the address of
        the worker. Workers that disconnect are omitted.
        """
        under_way = {
            address: self._submit(_open_executor, address, self._assignment)
            for address in addresses
        }
        identities: Dict[str, SimulatorIdentity] = {}
        deadline_s = time.monotonic() + self._hang_timeout_s
        while under_way:
            if should_stop():
                raise TrialStopped
            if time.monotonic() > deadline_s:
                raise SimulatorError(
                    f"Dask's worker {next(iter(under_way))} has not started its simulator in "
                    f"{self._hang_timeout_s:g} s (limits.hang_timeout_s)"
                )
            self._wait(list(under_way.values()), _POLL_S)
            present = self._addresses()
            for address, future in list(under_way.items()):
                if future.done():
                    identities[address] = under_way.pop(address).result()
                elif address not in present:
                    under_way.pop(address).cancel()  # no other worker can execute it
        if not identities:
            raise SimulatorError(f"all workers of {self._scheduler_name} exited while they started")
        return identities

    def _submit(self, function: Any, address: str, *arguments: Any) -> Any:
        return self._client.submit(
            function, *arguments, workers=[address], allow_other_workers=False, pure=False
        )

    def _wait(self, futures: List[Any], timeout_s: float, condition: str = "ALL_COMPLETED") -> None:
        with contextlib.suppress(self._distributed.TimeoutError), self._client.as_current():
            self._distributed.wait(futures, timeout=timeout_s, return_when=condition)

    def _assign(self) -> None:
        with self._reporting():
            self._submit_waiting_trials(self._addresses())

    def _submit_waiting_trials(self, addresses: List[str]) -> None:
        if addresses:
            self._alone_since_s = None
        elif self._alone_since_s is None:
            self._alone_since_s = time.monotonic()
        elif time.monotonic() - self._alone_since_s > NO_WORKER_S:
            raise SimulatorError(f"{self._scheduler_name} has had no worker for {NO_WORKER_S:g} s")
        busy = {task.address for task in self._under_way.values()}
        for address in addresses:
            if self._waiting and address not in busy:
                trial = self._waiting.popleft()
                future = self._submit(_execute, address, self._assignment, self.identity, trial)
                self._under_way[future] = _SubmittedTrial(address, trial, time.monotonic())

    def _ended(self) -> Optional[Attempt]:
        """Return an attempt that has ended or whose worker is lost; None if there is none."""
        present = set(self._addresses())
        for future, task in list(self._under_way.items()):
            wall_s = time.monotonic() - task.began_s
            if future.done():
                del self._under_way[future]
                try:
                    return Attempt(task.trial, wall_s, future.result())
                except FAILURES as error:
                    return Attempt.invalid(task.trial, wall_s, error)
                except TrialStopped:
                    continue
            if task.address not in present:
                del self._under_way[future]
                future.cancel()
                cause = f"Dask's worker {task.address} has disappeared"
                return Attempt(task.trial, wall_s, cause=cause, worker_died=True)
        return None

    def _request_stop(self) -> None:
        def request() -> None:
            with contextlib.suppress(*self._lost):
                client.run(_stop_trials, self._assignment.token, on_error="ignore")

        client = self._client
        threading.Thread(target=request, daemon=True).start()  # a hung worker does not respond

    @contextlib.contextmanager
    def _reporting(self) -> Iterator[None]:
        """Replace errors of Dask in this context by ``SimulatorError`` if the scheduler cannot be
        reached.
        """
        try:
            yield
        except self._lost as error:
            raise SimulatorError(
                f"{self._scheduler_name} cannot be reached: {error}; finished trials are stored; "
                "run the same command again to continue"
            ) from error


class _SubmittedTrial(NamedTuple):
    address: str
    trial: Trial
    began_s: float


def _import_distributed() -> Any:
    with importing("trials on Dask need its package distributed", "dask"):
        import distributed
    return distributed


# functions that run in the worker

_executors: Dict[str, RenewableExecutor] = {}
_stopped: Set[str] = set()


def _open_executor(assignment: Assignment) -> SimulatorIdentity:
    if assignment.token not in _executors:
        _require_same_version(assignment)
        _executors[assignment.token] = RenewableExecutor(assignment.make_executor(assignment.bed))
    return _executors[assignment.token].open()


def _execute(assignment: Assignment, identity: SimulatorIdentity, trial: Trial) -> TrialResult:
    local_identity = _open_executor(assignment)
    if local_identity != identity:
        raise ResultsError(
            f"{_worker_name()} has the simulator {local_identity.name} {local_identity.version}, "
            f"but the campaign uses {identity.name} {identity.version}"
        )
    world = trial.world
    if not world.path.is_file() or file_sha256(world.path) != world.sha256:
        raise ResultsError(
            f"{_worker_name()} does not have the campaign's version of {world.path}; share the "
            "results directory with the workers, under the same path"
        )
    executor = _executors[assignment.token]
    return executor.execute(trial, lambda: assignment.token in _stopped)


def _stop_trials(token: str) -> None:
    _stopped.add(token)


def _close_executor(token: str) -> None:
    executor = _executors.pop(token, None)
    if executor is not None:
        executor.close()
    _stopped.discard(token)


def _require_same_version(assignment: Assignment) -> None:
    if assignment.version != __version__:
        raise ResultsError(
            f"{_worker_name()} has gz_testauto {__version__}, but the campaign was started with "
            f"{assignment.version}; install the same version on both machines"
        )
    local_files = further_files(assignment.bed.spec, assignment.bed.robot)
    for name, digest in assignment.files.items():
        if local_files.get(name) != digest:
            raise ResultsError(
                f"{name} on {_worker_name()} differs from the campaign's; install the same version"
            )


def _worker_name() -> str:
    return f"Dask's worker {_import_distributed().get_worker().address}"
