import Deadlines
import HTTP
import Networking

/// The deadline of each request: when it passes, the server answers instead of the handler, whose
/// own response is dropped.
extension HTTPConnection {
    /// A handler may shorten its time to this: the first look at the clock.
    private static let firstLook: Int64 = 900_000_000
    /// The time stands still while a body arrives and counts anew after each of its pieces.
    private static let lookAtUpload: Int64 = 1_000_000_000

    /// A request's handling begins. Its number distinguishes its response from a late one.
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
            if left > 0 {
                let time = upload == nil ? left : min(left, Self.lookAtUpload)
                return look(after: time, deadline, form, id)
            }
            let mayHaveWritten = deadline.expire()
            var response =
                form.response(mayHaveWritten: mayHaveWritten)
                ?? .late(mayHaveWritten: mayHaveWritten, id: id)
            if socket.tls != nil { response.keepToTLS() }
            _ = answer(response, turn: turn)
        }
    }

    /// The rest of the response may take longer.
    func stopClock() {
        hasAnswered = true
        if let clock { worker.loop.cancel(clock) }
        clock = nil
    }
}
