import Glibc

/// Reads settings from the environment by name. Faults are collected and thrown together at the
/// end.
struct SettingsReader {
    private static let prefix = "GATEHOUSE_"
    private static let fileSuffix = "_FILE"

    private let environment: [String: String]
    private let readFile: (String) -> [UInt8]?
    private var known: Set<String> = []
    private var set: Set<String> = []
    private var faults: [SettingFault] = []

    init(environment: [String: String], readFile: @escaping (String) -> [UInt8]?) {
        self.environment = environment
        self.readFile = readFile
    }

    /// Returns the value of a setting; `nil` if it is absent or empty. If it cannot be read,
    /// records a fault and returns `nil`.
    mutating func bytes(_ name: String) -> [UInt8]? {
        let file = name + Self.fileSuffix
        known.insert(name)
        known.insert(file)
        // An empty value means "not set", because Compose files pass empty values for variables
        // without a value.
        let value = environment[name].flatMap { $0.isEmpty ? nil : Array($0.utf8) }
        guard let path = environment[file], !path.isEmpty else {
            if value != nil { set.insert(name) }
            return value
        }
        set.insert(name)
        guard value == nil else {
            note(name, "is set together with \(file); keep one of the two")
            return nil
        }
        guard var content = readFile(path) else {
            note(file, "the file cannot be read; check its path and permissions")
            return nil
        }
        while content.last == 0x0A || content.last == 0x0D { content.removeLast() }
        guard !content.isEmpty else {
            note(file, "the file is empty")
            return nil
        }
        return content
    }

    mutating func text(_ name: String) -> String? {
        guard let bytes = bytes(name) else { return nil }
        guard let text = String(validating: bytes, as: UTF8.self),
            bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
        else {
            note(name, "must be one line of UTF-8 text")
            return nil
        }
        return text
    }

    mutating func secret(_ name: String, atLeast count: Int = 1, prefix: String = "") -> Secret? {
        guard let bytes = bytes(name) else { return nil }
        if bytes.count < count { note(name, "must have at least \(count) bytes") }
        if !bytes.starts(with: prefix.utf8) { note(name, "must start with \(prefix)") }
        return Secret(bytes)
    }

    mutating func checked<T>(_ name: String, _ mend: String, _ parse: (String) -> T?) -> T? {
        guard let text = text(name) else { return nil }
        let value = parse(text)
        if value == nil { note(name, mend) }
        return value
    }

    /// Records a fault if only one of two settings that belong together is set.
    mutating func requireBoth(_ one: String, _ other: String) {
        if set.contains(one) != set.contains(other) {
            note(
                set.contains(one) ? other : one,
                "is needed because \(set.contains(one) ? one : other) is set")
        }
    }

    /// Throws if there are any faults; unknown names of variables are faults too.
    mutating func finish() throws(SettingsFault) {
        for name in environment.keys.sorted()
        where name.utf8.starts(with: Self.prefix.utf8) && !known.contains(name) {
            let near = known.filter { EditDistance.between(name, $0) <= 3 }.min {
                (EditDistance.between(name, $0), $0) < (EditDistance.between(name, $1), $1)
            }
            note(name, "is not a setting; " + (near.map { "was \($0) meant?" } ?? "remove it"))
        }
        guard faults.isEmpty else { throw SettingsFault(faults: faults) }
    }

    mutating func note(_ name: String, _ mend: String) {
        faults.append(SettingFault(name: name, mend: mend))
    }
}

/// Reads each kind of setting. If the format is wrong, the fault explains the right format.
extension SettingsReader {
    mutating func databaseURL(_ name: String) -> Secret? {
        checked(name, "must be a URL such as postgresql://user:password@host:5432/name") { text in
            let schemes = ["postgresql://", "postgres://"]
            return schemes.contains { text.utf8.starts(with: $0.utf8) }
                ? Secret(Array(text.utf8)) : nil
        }
    }

    /// Reads a PostgreSQL URL that has placeholders for the server's host and port.
    mutating func workerURL(_ name: String) -> Secret? {
        let words = "must be a URL such as postgresql://user:password@{host}:{port}/name"
        return checked(name, words) { text in
            let schemes = ["postgresql://", "postgres://"]
            return schemes.contains { text.utf8.starts(with: $0.utf8) }
                && ["{host}", "{port}"].allSatisfy {
                    text.split(separator: $0, omittingEmptySubsequences: false).count == 2
                }
                ? Secret(Array(text.utf8)) : nil
        }
    }

    mutating func smtpURL(_ name: String) -> Secret? {
        checked(name, "must be a URL such as smtps://user:password@host:465") { text in
            let schemes = ["smtp://", "smtps://"]
            return schemes.contains { text.utf8.starts(with: $0.utf8) }
                ? Secret(Array(text.utf8)) : nil
        }
    }

    /// Reads a duration such as `3s`, `500ms` or `1m`. `least` is the shortest that is allowed, in
    /// milliseconds.
    mutating func duration(_ name: String, from least: Int64 = 100) -> Duration? {
        let range = least...60_000
        let words = "must be a whole number with a unit ms, s or m, from \(least)ms to 60s"
        return checked(name, words) { text in
            let digits = text.utf8.prefix { (0x30...0x39).contains($0) }
            guard let number = Int64(String(decoding: digits, as: UTF8.self)), number <= 60_000
            else { return nil }
            let milliseconds: Int64
            switch String(decoding: text.utf8.dropFirst(digits.count), as: UTF8.self) {
            case "ms": milliseconds = number
            case "s": milliseconds = number * 1000
            case "m": milliseconds = number * 60_000
            case "" where number == 0: milliseconds = 0
            default: return nil
            }
            guard range.contains(milliseconds) else { return nil }
            return .milliseconds(milliseconds)
        }
    }

    mutating func flag(_ name: String) -> Bool? {
        checked(name, "must be true or false") { text in
            switch text {
            case "true", "1": true
            case "false", "0": false
            default: nil
            }
        }
    }

    mutating func integer(_ name: String, _ range: ClosedRange<Int>) -> Int? {
        checked(name, "must be a whole number from \(range.lowerBound) to \(range.upperBound)") {
            text in
            Int(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// Reads `host:port` or `[address]:port`.
    mutating func address(_ name: String) -> Settings.Address? {
        checked(name, "must be host:port, such as 127.0.0.1:8080 or [::1]:8080") { text in
            let bytes = Array(text.utf8)
            guard let colon = bytes.lastIndex(of: UInt8(ascii: ":")), colon > 0,
                bytes[(colon + 1)...].allSatisfy({ (0x30...0x39).contains($0) }),
                let port = UInt16(String(decoding: bytes[(colon + 1)...], as: UTF8.self))
            else { return nil }
            var host = bytes[..<colon]
            if host.first == UInt8(ascii: "["), host.last == UInt8(ascii: "]") {
                host = host.dropFirst().dropLast()
                guard Self.isAddress(host) else { return nil }
            } else if host.contains(UInt8(ascii: ":")) {
                return nil
            }
            return Settings.Address(host: String(decoding: host, as: UTF8.self), port: port)
        }
    }

    /// Reads a URL and removes one trailing slash. A path is a fault, because browsers send origins
    /// without one.
    mutating func publicURL(_ name: String) -> String? {
        checked(name, "must be https://host or http://host, with a port if need be, no path") {
            text in
            var bytes = Array(text.utf8)
            if bytes.last == UInt8(ascii: "/") { bytes.removeLast() }
            let scheme = ["https://", "http://"].first { bytes.starts(with: $0.utf8) }
            guard let scheme else { return nil }
            let rest = bytes.dropFirst(scheme.utf8.count)
            let forbidden = Set("/\\?#@ *".utf8)
            guard !rest.isEmpty, !rest.contains(where: { forbidden.contains($0) }) else {
                return nil
            }
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    /// Reads an HTTP URL, which must contain no user. Only its scheme and its characters are
    /// checked here; libcurl parses it in full when it is used.
    mutating func httpURL(_ name: String) -> String? {
        checked(name, "must be a URL such as http://collector:4318/v1/traces, without a user") {
            text in
            let bytes = Array(text.utf8)
            let scheme = ["https://", "http://"].first { bytes.starts(with: $0.utf8) }
            guard let scheme, bytes.count > scheme.utf8.count,
                !bytes.contains(where: { $0 <= 0x20 || $0 >= 0x7F || $0 == UInt8(ascii: "@") })
            else { return nil }
            return text
        }
    }

    /// Reads a decimal fraction from 0 to 1.
    mutating func ratio(_ name: String) -> Double? {
        checked(name, "must be a number from 0 to 1, such as 0.01") { text in
            Double(text).flatMap { (0...1).contains($0) ? $0 : nil }
        }
    }

    /// Reads an email address. It rejects only obvious mistakes; the address is parsed in full when
    /// it is used.
    mutating func email(_ name: String) -> String? {
        checked(name, "must be one address alone, without a name, such as owner@example.com") {
            text in
            guard !text.utf8.contains(where: { "<>\"(), ;:".utf8.contains($0) }) else {
                return nil
            }
            let parts = text.utf8.split(
                separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
            return parts.count == 2 && parts.allSatisfy { !$0.isEmpty } ? text : nil
        }
    }

    mutating func apiKey(_ name: String) -> Secret? {
        checked(name, "must be gate_live_ or gate_test_ and 42 letters or digits") { text in
            let prefixes = ["gate_live_", "gate_test_"]
            guard text.utf8.count == 52,
                prefixes.contains(where: { text.utf8.starts(with: $0.utf8) }),
                text.utf8.dropFirst(10).allSatisfy({
                    (0x30...0x39).contains($0) || (0x61...0x7A).contains($0 | 0x20)
                })
            else { return nil }
            return Secret(Array(text.utf8))
        }
    }

    mutating func tightness(_ name: String) -> Bool? {
        checked(name, "must be standard or tight") { text in
            switch text {
            case "tight": true
            case "standard": false
            default: nil
            }
        }
    }

    mutating func log(_ name: String) -> Settings.Log? {
        checked(name, "must be json or text") { Settings.Log(rawValue: $0) }
    }

    mutating func addressBlocks(_ name: String) -> [String] {
        checked(name, "must be addresses or blocks with commas, such as 10.0.0.0/8,::1") { text in
            var blocks: [String] = []
            for part in text.utf8.split(separator: UInt8(ascii: ",")) {
                let block = part.filter { $0 != 0x20 }
                let halves = block.split(
                    separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
                guard (1...2).contains(halves.count), Self.isAddress(halves[0]),
                    halves.count == 1 || Self.isPrefix(halves[1], of: halves[0])
                else { return nil }
                blocks.append(String(decoding: block, as: UTF8.self))
            }
            return blocks
        } ?? []
    }

    /// Whether the text is a prefix length for an address of this kind. For an IPv4-mapped IPv6
    /// address, the length is that of the IPv6 form.
    private static func isPrefix(
        _ text: some Collection<UInt8>, of address: some Collection<UInt8>
    ) -> Bool {
        guard (1...3).contains(text.count), text.count == 1 || text.first != 0x30,
            text.allSatisfy({ (0x30...0x39).contains($0) }),
            let bits = Int(String(decoding: text, as: UTF8.self))
        else { return false }
        let colon = UInt8(ascii: ":")
        let isMapped = address.contains(colon) && address.contains(UInt8(ascii: "."))
        return address.contains(colon)
            ? ((isMapped ? 96 : 0)...128).contains(bits) : (0...32).contains(bits)
    }

    private static func isAddress(_ bytes: some Collection<UInt8>) -> Bool {
        let text = String(decoding: bytes, as: UTF8.self)
        var out = [UInt8](repeating: 0, count: 16)
        return inet_pton(AF_INET, text, &out) == 1 || inet_pton(AF_INET6, text, &out) == 1
    }
}

/// The Levenshtein distance, which finds the known name closest to a mistyped one.
package enum EditDistance {
    /// Returns how many insertions, deletions and substitutions of single bytes turn one UTF-8 text
    /// into the other.
    package static func between(_ left: String, _ right: String) -> Int {
        let other = Array(right.utf8)
        var row = Array(0...other.count)
        for (index, byte) in left.utf8.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for at in other.indices {
                let cost = byte == other[at] ? diagonal : min(diagonal, row[at], row[at + 1]) + 1
                diagonal = row[at + 1]
                row[at + 1] = cost
            }
        }
        return row[other.count]
    }
}

/// Returns the bytes of a file; `nil` if it cannot be read.
package func readFile(_ path: String) -> [UInt8]? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16_384)
    while true {
        let count = Glibc.read(file, &chunk, chunk.count)
        guard count > 0 else { return count == 0 ? bytes : nil }
        bytes.append(contentsOf: chunk[..<count])
    }
}
