"""`python -m everloom`: the same as the command `everloom`."""

from everloom.surfaces.cli import main

if __name__ == "__main__":
    main()
