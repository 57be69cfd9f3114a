import COpenSSL

/// An ECDSA signature in the two forms: DER, which OpenSSL speaks, and `r || s`, which JWS does.
enum ECDSASignature {
    private static let half = 32

    static func raw(fromDER der: [UInt8]) -> [UInt8]? {
        var raw = [UInt8](repeating: 0, count: 2 * half)
        let signature = der.withUnsafeBufferPointer { buffer in
            var cursor = buffer.baseAddress
            return d2i_ECDSA_SIG(nil, &cursor, buffer.count)
        }
        guard let signature else { return nil }
        defer { ECDSA_SIG_free(signature) }
        let written = raw.withUnsafeMutableBufferPointer { out in
            BN_bn2binpad(ECDSA_SIG_get0_r(signature), out.baseAddress, Int32(half)) > 0
                && BN_bn2binpad(
                    ECDSA_SIG_get0_s(signature), out.baseAddress.map { $0 + half }, Int32(half))
                    > 0
        }
        return written ? raw : nil
    }

    /// `half`: the bytes of each number, as the curve has them.
    static func der(fromRaw raw: [UInt8], half: Int = half) -> [UInt8]? {
        guard raw.count == 2 * half, let signature = ECDSA_SIG_new() else { return nil }
        defer { ECDSA_SIG_free(signature) }
        let r = BN_bin2bn(Array(raw[..<half]), Int32(half), nil)
        let s = BN_bin2bn(Array(raw[half...]), Int32(half), nil)
        guard let r, let s, ECDSA_SIG_set0(signature, r, s) == 1 else {
            BN_free(r)
            BN_free(s)
            return nil
        }
        let length = i2d_ECDSA_SIG(signature, nil)
        guard length > 0 else { return nil }
        return [UInt8](unsafeUninitializedCapacity: Int(length)) { out, count in
            var cursor = out.baseAddress
            count = Int(i2d_ECDSA_SIG(signature, &cursor))
        }
    }
}
