import Testing
import Text

/// Ids and times as they stand on the wire.
@Suite struct WireFormsTests {
    @Test func `an id is its 32 digits in groups of 8, 4, 4, 4 and 12`() {
        #expect(
            UUID(high: 0x0123_4567_89AB_CDEF, low: 0xFEDC_BA98_7654_3210).description
                == "01234567-89ab-cdef-fedc-ba9876543210")
        #expect(UUID(high: 0, low: 0).description == "00000000-0000-0000-0000-000000000000")
        #expect(UUID(high: .max, low: .max).description == "ffffffff-ffff-ffff-ffff-ffffffffffff")
    }

    @Test func `every byte of an id is written in its place`() {
        for byte in UInt64(0)...255 {
            let digits = (byte < 16 ? "0" : "") + String(byte, radix: 16)
            for place in 0..<16 {
                let word = byte << (56 - UInt64(place % 8) * 8)
                let id = UUID(high: place < 8 ? word : 0, low: place < 8 ? 0 : word)
                let bare = id.description.filter { $0 != "-" }
                let expected =
                    String(repeating: "00", count: place) + digits
                    + String(repeating: "00", count: 15 - place)
                #expect(bare == expected)
                #expect(UUID(id.description) == id)
            }
        }
    }

    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (951_782_400_000_000, "2000-02-29T00:00:00.000Z"),
        (1_709_251_199_999_999, "2024-02-29T23:59:59.999Z"),
        (1_709_251_200_000_000, "2024-03-01T00:00:00.000Z"),
        (1_798_761_599_007_000, "2026-12-31T23:59:59.007Z"),
        (4_107_542_400_123_456, "2100-03-01T00:00:00.123Z"),
        (253_402_300_799_999_000, "9999-12-31T23:59:59.999Z"),
        (-62_167_219_200_000_000, "0000-01-01T00:00:00.000Z"),
    ])
    func `a time is a date and milliseconds in UTC`(_ microseconds: Int64, _ text: String) {
        #expect(Timestamp(microseconds: microseconds).description == text)
    }

    @Test func `a time is read back as it was written, on every day of five centuries`() {
        for day in Int64(-60_000)..<120_000 {
            let time = Timestamp(microseconds: (day * 86_400_000 + day * day % 86_400_000) * 1000)
            #expect(Timestamp(time.description) == time)
        }
    }

    @Test(arguments: [
        ("2021-02-03T04:05:06.1234567Z", 123_456), ("2021-02-03T04:05:06.123456789+00:00", 123_456),
        ("2021-02-03T04:05:06.9999999999999999999999999999Z", 999_999),
        ("2021-02-03T04:05:06.5Z", 500_000), ("2021-02-03T05:05:06.000000999+01:00", 0),
    ])
    func `a time has any number of digits of a second, of which six count`(
        _ text: String, _ micros: Int64
    ) {
        #expect(Timestamp(text)?.microseconds == 1_612_325_106_000_000 + micros)
    }

    @Test(arguments: [
        "2021-02-03T04:05:06.Z", "2021-02-03T04:05:06.12x4Z", "2021-02-03T04:05:06.123456789",
        "2021-02-03T04:05:06,123Z",
    ])
    func `what is no time stays none`(_ text: String) { #expect(Timestamp(text) == nil) }
}
