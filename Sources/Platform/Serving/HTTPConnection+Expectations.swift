import Deadlines
import HTTP
import Networking

/// A client that waits for `100 Continue` before it sends its body (RFC 9110 section 10.1.1).
extension HTTPConnection {
    func awaitBody() {
        phase = .body
        deadline = worker.loop.now + worker.configuration.bodyTime
    }

    /// Sends `100 Continue`, unless the head shows that the body would be refused.
    func precheck() {
        guard let precheck = worker.precheck, let request = incoming?.request else { return goOn() }
        let closes = closesAfterAnswer
        // A refused client may send the body anyway, and it must not be parsed as a request.
        closesAfterAnswer = true
        let turn = beginTurn()
        let bound = LoopBound(self, loop: worker.loop)
        let deadline = Deadline(since: worker.loop.now, lasting: worker.configuration.answerTime)
        let form = LateForm()
        var forwarded = request
        forwarded.lateForm = form
        worker.loop.spawn { [forwarded] in
            let refusal = await Deadline.$current.withValue(deadline) { await precheck(forwarded) }
            let connection = bound.value
            guard connection.phase == .handling, connection.turn == turn else { return }
            if let refusal {
                connection.incoming = nil
                _ = connection.answer(refusal, turn: turn)
                return
            }
            connection.stopClock()
            connection.closesAfterAnswer = closes
            connection.goOn()
        }
        if !hasAnswered { startClock(deadline, form, id: request.id) }
    }

    private func goOn() {
        awaitBody()
        worker.writer.out.append("HTTP/1.1 100 Continue\r\n\r\n")
        guard !ingesting else { return }
        flush()
        proceed()
    }
}
