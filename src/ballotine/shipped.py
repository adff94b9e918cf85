"""The mechanisms, classifiers and transformers that ship with Ballotine, one line each.

"module:attribute" by short name, as another package's entry points would say it. Nothing is
imported before it is used.
"""

from __future__ import annotations

MECHANISMS = {
    "gnmax": "ballotine.voting.gnmax:GNMax",
    "confident-gnmax": "ballotine.voting.confident:ConfidentGNMax",
    "lnmax": "ballotine.voting.lnmax:LNMax",
    "binary": "ballotine.voting.multilabel.binary:BinaryVoting",
    "clipped": "ballotine.voting.multilabel.clipped:ClippedVoting",
    "powerset": "ballotine.voting.multilabel.powerset:PowersetVoting",
}
"""What run files and the command line may call a mechanism.

`InteractiveGNMax` is not among them: it needs a student's probabilities with every query.
"""

STUDENTS = {
    "nearest-neighbours": "sklearn.neighbors:KNeighborsClassifier",
    "logistic-regression": "sklearn.linear_model:LogisticRegression",
    "svm": "sklearn.svm:SVC",
    "random-forest": "sklearn.ensemble:RandomForestClassifier",
    "extra-trees": "sklearn.ensemble:ExtraTreesClassifier",
    "gradient-boosting": "sklearn.ensemble:HistGradientBoostingClassifier",
    "naive-bayes": "sklearn.naive_bayes:GaussianNB",
    "discriminant-analysis": "sklearn.discriminant_analysis:LinearDiscriminantAnalysis",
    "neural-network": "ballotine.neural.adapter:TorchClassifier",
    "spreading": "ballotine.students.spreading:SpreadingClassifier",
    "supervised": "ballotine.students.neural.supervised:Supervised",
    "gan": "ballotine.students.neural.gan:SemiSupervisedGAN",
    "co-teaching": "ballotine.students.neural.supervised:CoTeaching",
    "co-teaching-plus": "ballotine.students.neural.supervised:CoTeachingPlus",
    "pate-plus": "ballotine.students.neural.patepp:PatePlus",
    "pate-plus-plus": "ballotine.students.neural.patepp:PatePlusPlus",
    "mixmatch": "ballotine.students.neural.mixmatch:MixMatch",
    "vat": "ballotine.students.neural.vat:VAT",
    "fixmatch": "ballotine.students.neural.fixmatch:FixMatch",
    "self-training": "ballotine.students.self_training:SelfTraining",
    "label-spreading": "sklearn.semi_supervised:LabelSpreading",
    "label-propagation": "sklearn.semi_supervised:LabelPropagation",
}
"""Classifiers: a teacher and a student may be any of them."""

TRANSFORMERS = {"patches": "ballotine.features.patches:PatchFeatures"}
"""What teachers and student may see of a row."""
