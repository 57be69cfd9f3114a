import Storage
import Text

extension Database {
    /// The same database with other options, as a second process has it.
    package func with(_ change: (inout Options) -> Void) -> Database {
        var options = options
        change(&options)
        return made(options, clock)
    }

    /// The same database with another clock.
    package func with(clock: @escaping @Sendable () -> Timestamp) -> Database {
        made(options, clock)
    }

    private func made(_ options: Options, _ clock: @escaping @Sendable () -> Timestamp) -> Database
    {
        Database(
            app: app, platform: platform, replica: replica, secrets: secrets, options: options,
            clock: clock)
    }
}
