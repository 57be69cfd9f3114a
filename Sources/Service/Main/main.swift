import Gatehouse
import Glibc

exit(Command.run(CommandLine.arguments))
