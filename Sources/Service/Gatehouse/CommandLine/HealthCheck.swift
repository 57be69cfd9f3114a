import Glibc
import Runtime

/// `gatehouse healthcheck`: sends one HTTP request to the server on this machine; containers use it
/// as their health check.
struct HealthCheck {
    struct Failed: Error, CustomStringConvertible {
        var description: String
    }

    var settings: Settings

    func run() throws {
        let listen = settings.listen
        let host = listen.isWildcard ? "127.0.0.1" : listen.host
        guard let descriptor = Reach.connection(host, listen.port) else {
            throw Failed(description: "nothing answers at \(host):\(listen.port)")
        }
        defer { close(descriptor) }
        let request =
            "GET /readyz HTTP/1.1\r\nHost: \(listen.text)\r\nConnection: close\r\n\r\n"
        var answer: [UInt8]
        if settings.tlsCertificate != nil {
            answer = TLSProbe.exchange(request, on: descriptor)
        } else {
            _ = send(descriptor, request, request.utf8.count, 0)
            answer = [UInt8](repeating: 0, count: 64)
            let count = recv(descriptor, &answer, answer.count, 0)
            answer = Array(answer.prefix(max(0, count)))
        }
        guard answer.starts(with: "HTTP/1.1 200 ".utf8) else {
            throw Failed(description: "the server is not ready")
        }
    }
}
