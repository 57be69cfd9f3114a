/// Writes JSON directly into bytes and adds the commas. The caller is responsible for the nesting:
/// it writes a name before each member's value, and an end for each begin.
///
/// The writer owns its memory and cannot be copied. An array would check at each byte whether its
/// memory is shared.
package struct JSONWriter: ~Copyable {
    private var start: UnsafeMutablePointer<UInt8>
    private var capacity: Int
    private var count = 0
    private var needsComma = false
    private var isLent = false

    package init(reserving capacity: Int = 512) {
        self.capacity = max(64, capacity)
        start = .allocate(capacity: self.capacity)
    }

    /// Writes into memory that the caller owns.
    private init(lent start: UnsafeMutablePointer<UInt8>, _ capacity: Int) {
        self.start = start
        self.capacity = capacity
        isLent = true
    }

    deinit { if !isLent { start.deallocate() } }

    /// Returns the bytes that `write` produces. If they fit into `capacity` bytes, they are not
    /// copied.
    package static func bytes(
        reserving capacity: Int, _ write: (inout JSONWriter) -> Void
    ) -> [UInt8] {
        var larger: [UInt8]?
        let bytes = [UInt8](unsafeUninitializedCapacity: max(64, capacity)) { room, count in
            guard let start = room.baseAddress else { return }
            var json = JSONWriter(lent: start, room.count)
            write(&json)
            if json.isLent { count = json.count } else { larger = json.bytes }
        }
        return larger ?? bytes
    }

    package var bytes: [UInt8] { Array(written) }

    private var written: UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: start, count: count)
    }

    package func withBytes(_ body: (UnsafeRawBufferPointer) -> Void) {
        body(UnsafeRawBufferPointer(written))
    }

    package mutating func beginObject() { open(UInt8(ascii: "{")) }
    package mutating func endObject() { close(UInt8(ascii: "}")) }
    package mutating func beginArray() { open(UInt8(ascii: "[")) }
    package mutating func endArray() { close(UInt8(ascii: "]")) }

    /// Writes a member name from the source code, which needs no escaping.
    package mutating func name(_ text: StaticString) {
        let length = text.utf8CodeUnitCount
        reserve(length + 4)
        if needsComma { put(UInt8(ascii: ",")) }
        put(UInt8(ascii: "\""))
        put(UnsafeBufferPointer(start: text.utf8Start, count: length))
        put(UInt8(ascii: "\""))
        put(UInt8(ascii: ":"))
        needsComma = false
    }

    /// Writes a member name with the comma before it and the colon after it. Call it only inside an
    /// object.
    @_disfavoredOverload
    package mutating func name(_ text: String) {
        string(text)
        reserve(1)
        put(UInt8(ascii: ":"))
        needsComma = false
    }

    /// Writes a string. Quotes, backslashes and control characters are escaped (RFC 8259, section
    /// 7).
    package mutating func string(_ text: String) {
        var text = text
        text.withUTF8 { string($0) }
    }

    /// Writes a string from bytes that are known to be valid UTF-8, such as the database's.
    package mutating func string(_ text: UnsafeBufferPointer<UInt8>) {
        // Escaping turns one byte into at most six.
        reserve(text.count * 6 + 3)
        if needsComma { put(UInt8(ascii: ",")) }
        needsComma = true
        put(UInt8(ascii: "\""))
        var from = 0
        while let at = Self.nextEscape(text, from) {
            put(UnsafeBufferPointer(rebasing: text[from..<at]))
            escape(text[at])
            from = at + 1
        }
        put(UnsafeBufferPointer(rebasing: text[from...]))
        put(UInt8(ascii: "\""))
    }

    /// Writes a quoted string of `length` bytes without escapes, such as an id or a time. `write`
    /// fills in the bytes.
    package mutating func ascii(
        _ length: Int, _ write: (UnsafeMutableBufferPointer<UInt8>) -> Void
    ) {
        reserve(length + 3)
        if needsComma { put(UInt8(ascii: ",")) }
        needsComma = true
        put(UInt8(ascii: "\""))
        write(UnsafeMutableBufferPointer(start: start + count, count: length))
        count += length
        put(UInt8(ascii: "\""))
    }

    package mutating func int(_ value: Int) { int(Int64(value)) }

    /// Writes an integer in decimal.
    @_disfavoredOverload
    mutating func int(_ value: Int64) {
        reserve(24)
        if needsComma { put(UInt8(ascii: ",")) }
        needsComma = true
        if value < 0 { put(UInt8(ascii: "-")) }
        var rest = value.magnitude
        var divisor: UInt64 = 1
        while rest / divisor >= 10 { divisor *= 10 }
        while divisor > 0 {
            put(0x30 + UInt8(rest / divisor))
            rest %= divisor
            divisor /= 10
        }
    }

    package mutating func bool(_ value: Bool) { value ? raw("true") : raw("false") }
    package mutating func null() { raw("null") }

    /// Writes a number from its text, which must be a valid JSON number.
    package mutating func number(_ text: String) {
        var text = text
        text.withUTF8 { encoded($0) }
    }

    /// Writes one value that is already encoded and has no white space around it.
    package mutating func raw(_ value: [UInt8]) { value.withUnsafeBufferPointer { encoded($0) } }

    /// Writes one value that is already encoded, from memory that is not an array.
    package mutating func raw(_ value: UnsafeBufferPointer<UInt8>) { encoded(value) }

    /// Writes a whole tree; numbers keep their original text.
    package mutating func value(_ value: JSONValue) {
        switch value {
        case .null: null()
        case .bool(let flag): bool(flag)
        case .number(let text): number(text)
        case .string(let text): string(text)
        case .array(let elements):
            beginArray()
            for element in elements { self.value(element) }
            endArray()
        case .object(let members):
            beginObject()
            for member in members {
                name(member.name)
                self.value(member.value)
            }
            endObject()
        }
    }

    private mutating func raw(_ text: StaticString) {
        encoded(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    private mutating func encoded(_ value: UnsafeBufferPointer<UInt8>) {
        reserve(value.count + 1)
        if needsComma { put(UInt8(ascii: ",")) }
        needsComma = true
        put(value)
    }

    private mutating func open(_ bracket: UInt8) {
        reserve(2)
        if needsComma { put(UInt8(ascii: ",")) }
        put(bracket)
        needsComma = false
    }

    private mutating func close(_ bracket: UInt8) {
        reserve(1)
        put(bracket)
        needsComma = true
    }

    /// Returns the index of the next byte at or after `from` that must be escaped; `nil` if there
    /// is none.
    private static func nextEscape(_ text: UnsafeBufferPointer<UInt8>, _ from: Int) -> Int? {
        var at = from
        let bytes = UnsafeRawBufferPointer(text)
        while at + 8 <= text.count {
            let word = bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self)
            if hasEscape(word) { break }
            at += 8
        }
        while at < text.count {
            let byte = text[at]
            if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { return at }
            at += 1
        }
        return nil
    }

    /// Whether any of the word's eight bytes is below 0x20, a quote or a backslash. The test
    /// subtracts 0x20, or XORs with a quote or a backslash. It then applies the zero-byte test of
    /// H. S. Warren's Hacker's Delight, section 6-1.
    @inline(__always)
    private static func hasEscape(_ word: UInt64) -> Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highs = ones << 7
        let quotes = word ^ (ones &* 0x22)
        let slashes = word ^ (ones &* 0x5C)
        let controls = (word &- ones &* 0x20) & ~word
        return (controls | ((quotes &- ones) & ~quotes) | ((slashes &- ones) & ~slashes)) & highs
            != 0
    }

    /// Writes a byte without a check for room; call `reserve` first.
    @inline(__always)
    private mutating func put(_ byte: UInt8) {
        assert(count < capacity)
        start[count] = byte
        count += 1
    }

    @inline(__always)
    private mutating func put(_ run: UnsafeBufferPointer<UInt8>) {
        guard let from = run.baseAddress else { return }
        assert(count + run.count <= capacity)
        (start + count).update(from: from, count: run.count)
        count += run.count
    }

    @inline(__always)
    private mutating func reserve(_ more: Int) { if count + more > capacity { grow(more) } }

    @inline(never)
    private mutating func grow(_ more: Int) {
        while capacity < count + more { capacity *= 2 }
        let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
        larger.update(from: start, count: count)
        if !isLent { start.deallocate() }
        isLent = false
        start = larger
    }

    private mutating func escape(_ byte: UInt8) {
        put(UInt8(ascii: "\\"))
        switch byte {
        case 0x08: put(UInt8(ascii: "b"))
        case 0x09: put(UInt8(ascii: "t"))
        case 0x0A: put(UInt8(ascii: "n"))
        case 0x0C: put(UInt8(ascii: "f"))
        case 0x0D: put(UInt8(ascii: "r"))
        case 0x00..<0x20:
            put(UInt8(ascii: "u"))
            put(0x30)
            put(0x30)
            put(0x30 + byte >> 4)
            put(byte & 15 < 10 ? 0x30 + byte & 15 : 0x57 + byte & 15)
        default: put(byte)
        }
    }
}
