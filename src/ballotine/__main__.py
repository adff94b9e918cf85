"""``python -m ballotine`` is the command line."""

from ballotine.cli import main

if __name__ == "__main__":
    main()
