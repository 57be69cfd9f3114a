import Configuration
import Observability

/// The settings in the first log line: no secrets, and no database addresses, which may contain a
/// password.
enum StartLine {
    static func fields(
        _ settings: Settings, _ configuration: ServiceConfiguration
    ) -> [(StaticString, LogValue)] {
        [
            ("version", .text(Version.current)),
            ("listen", .text(configuration.listen)),
            ("public_url", .text(configuration.publicURL ?? "")),
            ("threads", .int(configuration.threads)),
            ("database_connections", .int(configuration.databaseConnections)),
            ("lease", .text("\(configuration.lease)")),
            ("drain", .text("\(configuration.drain)")),
            ("tls", .text(configuration.tlsCertificate ?? "")),
            ("metrics_listen", .text(configuration.metricsListen ?? "")),
            ("trusted_proxies", .text(configuration.trustedProxies.joined(separator: ","))),
            ("mail", .text(settings.smtpURL == nil ? "off" : "on")),
            (
                "second_factor_days",
                settings.secondFactorDays.map { .int($0) } ?? .text("off")
            ),
            ("decision_days", .int(settings.decisionDays)),
            ("idempotency_hours", .int(settings.idempotencyHours)),
        ]
    }
}
