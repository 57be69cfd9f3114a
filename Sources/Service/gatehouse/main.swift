import Application
import Glibc

exit(Command.run(CommandLine.arguments))
