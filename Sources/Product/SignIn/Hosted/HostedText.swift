import HTTP
import Text

/// The languages of the hosted pages.
enum HostedLanguage: String, CaseIterable {
    case english = "en"
    case german = "de"

    /// The one that the browser prefers (RFC 9110, section 12.5.4); English where it wants neither.
    init(_ request: Request) {
        var best: (language: Self, quality: Double)?
        for range in request.all("accept-language").flatMap({ $0.split(separator: ",") }).prefix(32)
        {
            let parts = range.filter { $0 != " " }.split(separator: ";")
            guard let tag = parts.first?.lowercased().split(separator: "-").first,
                let language = Self(rawValue: String(tag))
            else { continue }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }
            let quality = weight.flatMap { Double($0.dropFirst(2)) } ?? 1
            if quality > best?.quality ?? 0 { best = (language, quality) }
        }
        self = best?.language ?? .english
    }
}

/// A sentence of a hosted page. Its values are kept apart, so that it can be said in another
/// language: `"Add \(provider)?"` is `Add {}?` with one value.
struct HostedText: ExpressibleByStringInterpolation {
    struct StringInterpolation: StringInterpolationProtocol {
        var sentence = ""
        var values: [String] = []

        init(literalCapacity: Int, interpolationCount: Int) {}
        mutating func appendLiteral(_ literal: String) { sentence += literal }
        mutating func appendInterpolation(_ value: String) {
            sentence += "{}"
            values.append(value)
        }
    }

    private let sentence: String
    private let values: [String]

    init(stringLiteral text: String) {
        sentence = text
        values = []
    }

    init(stringInterpolation text: StringInterpolation) {
        sentence = text.sentence
        values = text.values
    }

    /// In English where the language has no such sentence.
    func said(in language: HostedLanguage) -> String {
        let said = language == .german ? HostedGerman.sentences[sentence] ?? sentence : sentence
        var text = ""
        var rest = values[...]
        for (index, part) in said.split(separator: "{}", omittingEmptySubsequences: false)
            .enumerated()
        {
            if index > 0 { text += rest.popFirst() ?? "" }
            text += part
        }
        return text
    }
}
