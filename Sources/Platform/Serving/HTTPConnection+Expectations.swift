import Deadlines
import HTTP
import Networking

/// A client that holds its body back until it is told to send it (RFC 9110 section 10.1.1).
extension HTTPConnection {
    func awaitBody() {
        phase = .body
        deadline = worker.loop.now + worker.configuration.bodyTime
    }

    /// Tells it to send the body, unless the head says that it would be in vain.
    func precheck() {
        guard let precheck = worker.precheck, let request = incoming?.request else { return goOn() }
        let closes = closesAfterAnswer
        // Who is refused may send the body all the same, and that must not be read as a request.
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
