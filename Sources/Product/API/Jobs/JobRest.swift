/// How a job gives way to requests. A batch keeps a processor and the database busy, and a request that
/// meets it waits longer; so while requests come, batches have so small a part of the time that fewer
/// than one request in a hundred meets one.
struct JobRest: Sendable {
    /// Requests a second from which on this process counts as busy: fewer are those of one who
    /// watches the job.
    static let busy = 40
    /// As many at least, however short the time: a batch that one of them meets does not rest.
    static let few = 4
    /// Of each batch's time, while it is.
    static let times = 149
    /// However long the batch took.
    static let most: Duration = .seconds(15)
    /// After each so long part it is looked whether requests still come.
    static let part: Duration = .milliseconds(100)

    let services: Services

    /// Rests for a batch that took `time`, during which the process answered so many requests.
    func after(
        _ time: Duration, answered: Int, until isOver: () -> Bool = { false }
    ) async {
        var left = min(time * Self.times, Self.most)
        var (seen, during) = (answered, time)
        while left > .zero, !isOver(), Self.isBusy(seen, in: during) {
            let part = min(left, Self.part)
            let before = services.answered()
            await services.pause(part)
            left -= part
            (seen, during) = (services.answered() - before, part)
        }
    }

    static func isBusy(_ requests: Int, in time: Duration) -> Bool {
        requests >= few && Double(requests) >= Double(busy) * (time / .seconds(1))
    }
}
