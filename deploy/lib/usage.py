"""Imported by a script before it does anything: answers -h and --help with the text at the script's top."""
import sys


def answer(text):
    if sys.argv[1:2] in (["-h"], ["--help"]):
        print(text.strip())
        sys.exit()
