"""The mechanisms, classifiers and transformers that ship with Ballotine, one line each.

Short names map to "module:attribute", as in the entry points of other packages. Nothing is
imported until it is used.
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
"""Names of mechanisms in run files and on the command line.

`InteractiveGNMax` is not included: it needs a student's probabilities with every query.
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
"""Names of classifiers; each can be a teacher or a student."""

TRANSFORMERS = {"patches": "ballotine.features.patches:PatchFeatures"}
"""Names of transformers that compute the features of teachers and student."""
