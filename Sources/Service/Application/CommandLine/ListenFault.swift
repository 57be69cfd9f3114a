import Configuration
import Glibc
import Networking

/// Why the service cannot listen at an address of the settings, and what to do about it.
struct ListenFault: Error, CustomStringConvertible {
    var description: String

    /// Returns nothing if all addresses are free; runs before anything else starts.
    static func check(_ settings: Settings) throws {
        try check("GATEHOUSE_LISTEN", settings.listen)
        if let metrics = settings.metricsListen { try check("GATEHOUSE_METRICS_LISTEN", metrics) }
    }

    private static func check(_ name: String, _ address: Settings.Address) throws {
        do throws(ListenError) {
            try Listener.probe(address.text)
        } catch {
            throw ListenFault(name, address, error)
        }
    }

    private init(_ name: String, _ address: Settings.Address, _ error: ListenError) {
        switch error {
        case .refused(_, EADDRINUSE):
            var other = address
            other.port = address.port < .max ? address.port + 1 : 1024
            description = "port \(address.port) is in use; \(name)=\(other.text) takes another"
        case .refused(_, EADDRNOTAVAIL):
            description = "\(name): this machine has no address \(address.host)"
        case .refused(_, let code):
            description =
                "\(name): cannot listen at \(address.text): \(String(cString: strerror(code)))"
        case .badAddress(let text):
            description = "\(name): \(text) is no numeric address with a port"
        }
    }
}
