import Cryptography
import Testing
import Text

@Suite struct CBORDecoderTests {
    private func decoded(_ hex: String) throws -> CBORValue {
        try CBORDecoder.whole(try #require(Hex.decode(hex)))
    }

    /// Of RFC 8949, appendix A.
    @Test func `the examples of the RFC are read`() throws {
        let numbers: [(String, CBORValue)] = [
            ("00", .unsigned(0)), ("17", .unsigned(23)), ("1818", .unsigned(24)),
            ("1903e8", .unsigned(1000)), ("1a000f4240", .unsigned(1_000_000)),
            ("1b000000e8d4a51000", .unsigned(1_000_000_000_000)),
            ("1bffffffffffffffff", .unsigned(.max)), ("20", .negative(0)), ("29", .negative(9)),
            ("3903e7", .negative(999)), ("3bffffffffffffffff", .negative(.max)),
        ]
        for (hex, value) in numbers { #expect(try decoded(hex) == value, "\(hex)") }
        #expect(try decoded("f4") == .bool(false))
        #expect(try decoded("4401020304") == .bytes([1, 2, 3, 4]))
        #expect(try decoded("62c3bc") == .text("ü"))
        #expect(try decoded("8301820203820405").entryCount == 3)
        #expect(try decoded("a201020304").entryCount == 2)
        #expect(try decoded("a26161016162820203").entryCount == 2)
    }

    @Test(arguments: [
        ("", CBORFault.truncated), ("18", .truncated), ("1900", .truncated), ("62c3", .truncated),
        ("81", .truncated), ("a101", .truncated), ("9b7fffffffffffffff", .truncated),
        ("bbffffffffffffffff", .truncated), ("5bffffffffffffffff", .truncated),
        ("0000", .trailingBytes), ("f4f4", .trailingBytes),
        ("5f42010243030405ff", .indefiniteLength),
        ("7f657374726561646d696e67ff", .indefiniteLength),
        ("9fff", .indefiniteLength), ("bf6161019fff", .indefiniteLength),
        ("1817", .notShortest), ("190017", .notShortest), ("1900ff", .notShortest),
        ("1a0000ffff", .notShortest), ("1b00000000ffffffff", .notShortest),
        ("580101", .notShortest), ("b80101 02", .notShortest),
        ("a201020103", .duplicateKey), ("a3010203040105", .duplicateKey),
        ("a2616101616102", .duplicateKey),
        ("a203040102", .unsortedKeys), ("a22001 0102", .unsortedKeys),
        ("a2626161 01 6162 02", .unsortedKeys),
        ("a1f401", .keyRefused), ("a18001", .keyRefused), ("a1410101", .keyRefused),
        ("818181818100", .tooDeep), ("61ff", .notUTF8), ("62c328", .notUTF8),
        ("f6", .unsupported), ("f7", .unsupported), ("f90000", .unsupported),
        ("fb3ff199999999999a", .unsupported),
        ("c074323031332d30332d32315432303a30343a30305a", .unsupported),
        ("1c", .unsupported), ("ff", .unsupported), ("f818", .unsupported),
    ])
    func `what is not canonical is refused for its own reason`(hex: String, fault: CBORFault)
        throws
    {
        #expect(throws: fault) { try decoded(hex.filter { $0 != " " }) }
    }

    @Test func `depth, values and length are bounded`() throws {
        #expect(try decoded("8181818100").entryCount == 1)
        let many = [0x98, 0xFF] + [UInt8](repeating: 0, count: 255)
        #expect(try CBORDecoder.whole(many).entryCount == 255)
        #expect(throws: CBORFault.tooManyValues) {
            try CBORDecoder.whole([0x99, 1, 0] + [UInt8](repeating: 0, count: 256))
        }
        let long = [UInt8](repeating: 0, count: CBORDecoder.lengthLimit + 1)
        #expect(throws: CBORFault.tooLong) { try CBORDecoder.whole(long) }
    }

    @Test func `a value that others follow ends where it ends`() throws {
        var decoder = CBORDecoder([9, 0x82, 1, 2, 7], at: 1)
        #expect(try decoder.value() == .array([.unsigned(1), .unsigned(2)]))
        #expect(decoder.offset == 4)
        #expect(try decoder.value() == .unsigned(7))
        #expect(throws: CBORFault.truncated) { try decoder.value() }
    }
}

extension CBORValue {
    fileprivate var entryCount: Int? {
        switch self {
        case .array(let elements): elements.count
        case .map(let entries): entries.count
        default: nil
        }
    }
}
