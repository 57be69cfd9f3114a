import HTTP
import Networking

/// Sends the output buffer to the socket.
extension HTTPConnection {
    func flush() {
        let out = worker.writer.out
        guard out.count > 0 else { return endIfDone() }
        defer { out.removeAll() }
        guard phase != .closed else { return }
        guard outgoing.isEmpty else { return outgoing.hold(out.bytes) }
        var at = 0
        while at < out.count {
            switch socket.send(UnsafeRawBufferPointer(rebasing: out.bytes[at...])) {
            case .moved(let count): at += count
            case .wantsWrite, .wantsRead:
                outgoing.hold(UnsafeRawBufferPointer(rebasing: out.bytes[at...]))
                outgoing.deadline = worker.loop.now + worker.configuration.writeTime
                return watch(writable: true)
            case .ended, .failed: return close()
            }
        }
        endIfDone()
    }

    func flushBacklog() {
        guard !outgoing.isEmpty else { return watch(writable: false) }
        guard outgoing.send(to: socket, rate: worker.configuration.writeRate) else {
            return close()
        }
        guard outgoing.isEmpty else { return }
        watch(writable: false)
        outgoing.resume()
        endIfDone()
        proceed()
    }

    /// Closes our sending side after the last response.
    func endIfDone() {
        guard phase == .lingering, outgoing.isEmpty, !outgoing.ended, !ingesting else { return }
        outgoing.ended = true
        pending = []
        deadline = worker.loop.now + worker.configuration.lingerTime
        socket.shutdownWrite()
        setReading(true)
    }

    func discard() {
        guard outgoing.isEmpty else { return pauseOrClose() }
        switch socket.receive(into: worker.scratch) {
        case .moved, .wantsRead, .wantsWrite: break
        case .ended, .failed: close()
        }
    }

    func setReading(_ on: Bool) {
        guard phase != .closed, readPaused == on else { return }
        readPaused = !on
        watch(writable: outgoing.waits)
    }

    func watch(writable: Bool) {
        outgoing.waits = writable
        worker.loop.rewatch(socket.descriptor, readable: !readPaused, writable: writable)
    }
}
