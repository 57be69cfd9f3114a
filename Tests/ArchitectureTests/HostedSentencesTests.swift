import Foundation
import Testing

/// The sentences of the hosted pages, in the languages that they speak.
struct HostedSentencesTests {
    private static let folder = "Sources/Service/Gatehouse/SignIn/Hosted"

    @Test func `each sentence of a hosted page has its German`() throws {
        let german = SourceTree.text("\(Self.folder)/HostedGerman.swift")
            .replacing(try Regex(#""\s*\+\s*""#), with: "")
        let calls = try Regex(
            #"(?:HostedPage|warn|say|link|button|choice|done|failed)\(\s*\[?"([^"]+)""#)
        var seen = 0
        for file in SourceTree.files(under: Self.folder, ending: ".swift") {
            let text = file.lines.joined(separator: "\n")
            for call in text.matches(of: calls) {
                let sentence = String(call.output[1].substring ?? "")
                    .replacing(try Regex(#"\\\([^)]*\)"#), with: "{}")
                #expect(german.contains("\"\(sentence)\":"), "\(file.path): \(sentence)")
                seen += 1
            }
        }
        #expect(seen > 15)
    }
}
