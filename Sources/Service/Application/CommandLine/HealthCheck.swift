import Configuration
import Glibc

/// `gatehouse healthcheck`: one HTTP request to a server on this machine, for containers.
struct HealthCheck {
    struct Failed: Error, CustomStringConvertible {
        var description: String
    }

    var settings: Settings

    func run() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw Failed(description: "no socket") }
        defer { close(descriptor) }
        var limit = timeval(tv_sec: 5, tv_usec: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = settings.listen.port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else {
            throw Failed(description: "nothing answers at port \(settings.listen.port)")
        }
        let request =
            "GET /readyz HTTP/1.1\r\nHost: \(settings.listen.text)\r\nConnection: close\r\n\r\n"
        _ = send(descriptor, request, request.utf8.count, 0)
        var answer = [UInt8](repeating: 0, count: 64)
        let count = recv(descriptor, &answer, answer.count, 0)
        guard answer.prefix(max(0, count)).starts(with: "HTTP/1.1 200 ".utf8) else {
            throw Failed(description: "the server is not ready")
        }
    }
}
