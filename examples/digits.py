"""The README example: handwritten digits, 50 teachers, one student, one guarantee."""

from sklearn.datasets import load_digits

from ballotine import Budget, ConfidentGNMax, PateClassifier

X, y = load_digits(return_X_y=True)
mechanism = ConfidentGNMax(sigma=8, threshold=30, sigma_threshold=20)
budget = Budget(epsilon=8, delta=1e-4)
model = PateClassifier(n_teachers=50, mechanism=mechanism, budget=budget, classes=range(10))
model.fit(X[:1200], y[:1200])  # private rows: 50 teachers learn, nothing is released
model.distill(X[1200:1600])  # public rows: noisy answers, and a student that learns from them
print(f"the student gets {model.score(X[1600:], y[1600:]):.0%} of new digits right")
print(model.guarantee_)
