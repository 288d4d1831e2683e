"""`python -m mindloom`: the same as the command `mindloom`."""

from mindloom.cli import main

if __name__ == "__main__":
    main()
