import Cryptography
import Text

/// A key pair that the `openssl` command made, and what it signs: none of our own code is involved.
package final class OpenSSLKey: Sendable {
    /// The name of the algorithm in RFC 7518 and RFC 8037.
    package let algorithm: String
    package let id: String
    /// The public key without `alg`, `use` and `kid`, as members of JSON.
    package let members: String
    private let directory: String
    /// The length in bytes of each number of an ECDSA signature; 0 for other kinds.
    private let half: Int

    package static let algorithms = [
        "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
    ]

    /// `bits` is the size of an RSA key.
    package init(_ algorithm: String, id: String? = nil, bits: Int = 2048) throws {
        self.algorithm = algorithm
        self.id = id ?? "key-\(algorithm)"
        let directory = try String(Shell.run(["mktemp", "-d", "/tmp/gh-key.XXXXXX"]).dropLast())
        self.directory = directory
        CleanUp.atEnd { _ = try? Shell.run(["rm", "-rf", directory]) }
        let curves = ["ES256": ("P-256", 32), "ES384": ("P-384", 48), "ES512": ("P-521", 66)]
        let (curve, half) = curves[algorithm] ?? ("", 0)
        self.half = half
        let make =
            half > 0
            ? "EC -pkeyopt ec_paramgen_curve:\(curve)"
            : algorithm == "EdDSA" ? "ED25519" : "RSA -pkeyopt rsa_keygen_bits:\(bits)"
        let shown = try Shell.run([
            "bash", "-c",
            """
            cd \(directory) && openssl genpkey -algorithm \(make) -out key.pem 2>/dev/null
            openssl pkey -in key.pem -pubout -outform DER | basenc --base16 -w0
            printf '\\n'
            openssl rsa -in key.pem -noout -modulus 2>/dev/null | cut -d= -f2
            """,
        ]).split(separator: "\n").map { Hex.decode($0.lowercased()) ?? [] }
        let point = shown.first ?? []
        if half > 0 {
            let x = Base64URL.encode(Array(point.suffix(2 * half).prefix(half)))
            let y = Base64URL.encode(Array(point.suffix(half)))
            members = #""kty":"EC","crv":"\#(curve)","x":"\#(x)","y":"\#(y)""#
        } else if algorithm == "EdDSA" {
            let x = Base64URL.encode(Array(point.suffix(32)))
            members = #""kty":"OKP","crv":"Ed25519","x":"\#(x)""#
        } else {
            members = #""kty":"RSA","n":"\#(Base64URL.encode(shown.last ?? []))","e":"AQAB""#
        }
    }

    /// The key as a provider publishes it.
    package var jwk: String { #"{\#(members),"kid":"\#(id)","alg":"\#(algorithm)","use":"sig"}"# }

    /// A token with the payload of another, whatever key signed that. `by` is another algorithm of
    /// the same kind of key.
    package func token(
        payloadOf other: String, by algorithm: String? = nil, header more: String = ""
    ) throws -> String {
        let name = algorithm ?? self.algorithm
        let header = #"{"alg":"\#(name)","kid":"\#(id)"\#(more)}"#
        let payload = other.split(separator: ".", omittingEmptySubsequences: false)[1]
        let text = "\(Base64URL.encode(Array(header.utf8))).\(payload)"
        let hash = "sha" + name.dropFirst(2)
        let pss = "-sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:digest"
        let sign =
            name == "EdDSA"
            ? "openssl pkeyutl -sign -rawin -inkey key.pem -in text"
            : "openssl dgst -\(hash) \(name.hasPrefix("PS") ? pss : "") -sign key.pem text"
        let output = try Shell.run([
            "bash", "-c",
            "cd \(directory) && printf %s \"$1\" > text && \(sign) | basenc --base16 -w0", "sign",
            text,
        ])
        var signature = Hex.decode(output.lowercased()) ?? []
        if half > 0 { signature = raw(signature) }
        return "\(text).\(Base64URL.encode(signature))"
    }

    /// `r || s` of a DER signature (RFC 7518 section 3.4).
    private func raw(_ der: [UInt8]) -> [UInt8] {
        var rest = der[...]
        // The sequence's head: from 128 on, its length takes one more byte.
        rest = rest.dropFirst(der.count > 1 && der[1] & 0x80 != 0 ? 3 : 2)
        var numbers: [UInt8] = []
        for _ in 0..<2 {
            rest = rest.dropFirst()
            let count = Int(rest.popFirst() ?? 0)
            let number = rest.prefix(count).drop { $0 == 0 }
            numbers += [UInt8](repeating: 0, count: max(0, half - number.count)) + number
            rest = rest.dropFirst(count)
        }
        return numbers
    }
}
