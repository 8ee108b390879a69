from gz_testauto.base.errors import GzTestautoError as GzTestautoError
from gz_testauto.campaign.trial_runner import TrialRunner as TrialRunner
from gz_testauto.notebook.results import Results as Results
from gz_testauto.notebook.results import compare as compare
from gz_testauto.notebook.results import load as load
from gz_testauto.notebook.running import run as run
from gz_testauto.spec.worlds import RandomNumbers as RandomNumbers

__version__: str
BITS_VERSION: int
