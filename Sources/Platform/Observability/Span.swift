import Glibc

/// A piece of work with its beginning and end, as OpenTelemetry's data model has it.
package struct Span: Sendable {
    /// The numbers are OTLP's.
    package enum Kind: Int, Sendable {
        case server = 2
        case client = 3
    }

    /// 32 hexadecimal digits.
    package let trace: String
    package let id: UInt64
    /// nil: the first of its trace.
    package let parent: UInt64?
    package let kind: Kind
    /// Of few values, without data.
    package let name: String
    /// Nanoseconds since 1970.
    package let start: Int64
    package let end: Int64
    /// By OpenTelemetry's semantic conventions; never a secret, an address or a bound value.
    package let attributes: [(name: StaticString, value: LogValue)]
    package let isFailed: Bool

    /// Nanoseconds since 1970.
    package static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
