import Deadlines
import HTTP
import Networking

/// One deadline for each request: when it is over, the server answers in place of the handler, whose
/// own answer is dropped when it comes.
extension HTTPConnection {
    /// A handler may shorten its time to this: the first look at the clock.
    private static let firstLook: Int64 = 900_000_000

    /// A request begins to be handled. Its number tells its answer from one that comes too late.
    func beginTurn() -> UInt64 {
        phase = .handling
        hasAnswered = false
        turn &+= 1
        return turn
    }

    func startClock(_ deadline: Deadline, _ form: LateForm, id: String) {
        let left = deadline.end - Deadline.now
        look(after: min(left, Self.firstLook), deadline, form, id)
    }

    private func look(after time: Int64, _ deadline: Deadline, _ form: LateForm, _ id: String) {
        let turn = turn
        clock = worker.loop.after(max(0, time)) { [weak self] in
            guard let self, self.turn == turn else { return }
            clock = nil
            guard phase == .handling else { return }
            let left = deadline.end - Deadline.now
            if left > 0 { return look(after: left, deadline, form, id) }
            let mayHaveWritten = deadline.expire()
            let response =
                form.response(mayHaveWritten: mayHaveWritten)
                ?? .late(mayHaveWritten: mayHaveWritten, id: id)
            _ = answer(response, turn: turn)
        }
    }

    /// What follows of the answer may take longer.
    func stopClock() {
        hasAnswered = true
        if let clock { worker.loop.cancel(clock) }
        clock = nil
    }
}
