import Configuration
import Observability

/// What the service needs to start, settled: from the environment or from the embedded default.
struct ServiceConfiguration: Sendable {
    var appConninfo: String
    var platformConninfo: String
    /// At least 32 bytes; the keys for directory, pepper and sealing are derived from it.
    var secretKey: [UInt8]
    var listen: String
    var publicURL: String?
    var threads: Int
    var consoleDirectory: String
    var tlsCertificate: String?
    var tlsKey: String?
    var logger: Logger
}
