"""The pipeline, as a scikit-learn estimator and as a run that one file describes."""

from ballotine.pipeline.classifier import PateClassifier
from ballotine.pipeline.folder import RunFolder, create_folder, open_folder, provisional_folder
from ballotine.pipeline.privacy_warnings import BiasWarning, DeltaWarning
from ballotine.pipeline.result import RunResult
from ballotine.pipeline.run import Run
from ballotine.pipeline.runfile import RunFile, embedded_runfile
from ballotine.progress import Progress

__all__ = [
    "BiasWarning",
    "DeltaWarning",
    "PateClassifier",
    "Progress",
    "Run",
    "RunFile",
    "RunFolder",
    "RunResult",
    "create_folder",
    "embedded_runfile",
    "open_folder",
    "provisional_folder",
]
