import Testing

@testable import Domain

struct AppearanceTests {
    @Test func `the text is black on light colours and white on dark ones`() {
        for (accent, ink) in [
            ("#ffffff", "#000000"), ("#ffd400", "#000000"), ("#1d5bc9", "#ffffff"),
            ("#000000", "#ffffff"), ("#777777", "#000000"), ("#757575", "#ffffff"),
        ] { #expect(Appearance(accent: accent).ink == ink, "\(accent)") }
        #expect(Appearance().ink == nil)
    }

    @Test func `an accent is six hexadecimal digits`() {
        #expect(Appearance.isAccent("#1d5BC9"))
        for text in ["", "#fff", "1d5bc9", "#1d5bc", "#1d5bc9f", "#1d5bg9", "red", "#１d5bc"] {
            #expect(!Appearance.isAccent(text), "\(text)")
        }
    }
}
