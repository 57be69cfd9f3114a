import Testing

@testable import Domain

/// What of a PNG is kept as a logo, and what is no logo.
struct PNGLogoTests {
    private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    private static let picture = chunk("IDAT", [0x78, 0x9C, 0x63, 0, 0, 0, 2, 0, 1])
    private static let end = chunk("IEND", [])

    private static func number(_ value: Int) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }

    private static func chunk(_ name: String, _ data: [UInt8]) -> [UInt8] {
        let named = Array(name.utf8) + data
        return number(data.count) + named + number(Int(Base62.crc32(named)))
    }

    private static func header(
        _ width: Int = 16, _ height: Int = 16, form: [UInt8] = [8, 6, 0, 0, 0]
    ) -> [UInt8] { chunk("IHDR", number(width) + number(height) + form) }

    private static func fault(_ bytes: [UInt8]) -> String? {
        do throws(LogoFault) {
            _ = try Logo(.png, bytes)
            return nil
        } catch { return error.detail }
    }

    @Test func `texts, times, profiles, animation and what follows the end are left out`() throws {
        let plain = Self.signature + Self.header() + Self.picture + Self.picture + Self.end
        let dressed =
            Self.signature + Self.header() + Self.chunk("tEXt", Array("Author\0Ann".utf8))
            + Self.chunk("acTL", [0, 0, 0, 2, 0, 0, 0, 0]) + Self.chunk("iCCP", [1, 2, 3])
            + Self.picture + Self.picture + Self.chunk("eXIf", [7]) + Self.end
            + Array("<script>alert(1)</script>".utf8)
        #expect(try Logo(.png, dressed).content == plain)
        #expect(try Logo(.png, plain).content == plain)
        let palette = Self.chunk("PLTE", [1, 2, 3]) + Self.chunk("tRNS", [0])
        let indexed =
            Self.signature + Self.header(form: [8, 3, 0, 0, 1]) + palette + Self.picture + Self.end
        #expect(try Logo(.png, indexed).content == indexed)
    }

    @Test func `what is damaged, huge or of an unknown kind is no logo`() {
        let header = Self.header()
        let cases: [(String, [UInt8])] = [
            ("no PNG", []), ("no PNG", Array("<svg/>".utf8)), ("no PNG", [0x89, 0x50, 0x4E, 0x47]),
            ("breaks off", Self.signature), ("breaks off", Self.signature + header.dropLast()),
            ("breaks off", Self.signature + header + Self.picture),
            ("breaks off", Self.signature + header + [0xFF, 0xFF, 0xFF, 0xFF] + Self.picture),
            ("checksum", Self.signature + header.dropLast() + [header.last.map { $0 ^ 1 } ?? 0]),
            ("no header", Self.signature + Self.picture + Self.end),
            ("no header", Self.signature + Self.chunk("IHDR", [1, 2, 3]) + Self.end),
            ("no picture", Self.signature + header + Self.end),
            ("pixels", Self.signature + Self.header(1025, 1) + Self.picture + Self.end),
            ("pixels", Self.signature + Self.header(0, 1) + Self.picture + Self.end),
            (
                "pixels",
                Self.signature + Self.header(0x7FFF_FFFF, 0xFFFF_FFFF) + Self.picture + Self.end
            ),
            (
                "unsupported colour type",
                Self.signature + Self.header(form: [8, 5, 0, 0, 0]) + Self.picture + Self.end
            ),
            (
                "unsupported colour type",
                Self.signature + Self.header(form: [8, 6, 1, 0, 0]) + Self.picture + Self.end
            ),
            (
                "order",
                Self.signature + header + Self.picture + Self.chunk("PLTE", [1, 2, 3])
                    + Self.picture + Self.end
            ),
            ("order", Self.signature + header + header + Self.picture + Self.end),
            (
                "unknown",
                Self.signature + header + Self.chunk("EVIL", [1]) + Self.picture + Self.end
            ),
            ("20480", Self.signature + header + [UInt8](repeating: 0, count: 20_480)),
        ]
        for (wanted, bytes) in cases {
            let found = Self.fault(bytes)
            #expect(found?.contains(wanted) == true, "\(wanted): \(found ?? "a logo")")
        }
    }
}
