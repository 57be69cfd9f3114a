import COpenSSL

/// Public keys from their numbers and back, through OpenSSL 3's parameter lists.
enum PublicKeyData {
    static func make(
        _ kind: String, numbers: [(name: StaticString, value: [UInt8])] = [], group: String? = nil,
        point: [UInt8] = []
    ) throws(CryptographyError) -> OpaquePointer {
        guard let builder = OSSL_PARAM_BLD_new() else { throw .libraryFailed }
        defer { OSSL_PARAM_BLD_free(builder) }
        // The builder keeps pointers, and copies only when the list is made.
        var held: [OpaquePointer?] = []
        defer { for number in held { BN_free(number) } }
        var built = true
        for (name, value) in numbers {
            let number = BN_bin2bn(value, Int32(value.count), nil)
            held.append(number)
            built = built && OSSL_PARAM_BLD_push_BN(builder, keyName(name), number) == 1
        }
        let parameters = point.withUnsafeBufferPointer { buffer in
            (group ?? "").withCString { text -> UnsafeMutablePointer<OSSL_PARAM>? in
                if group != nil {
                    built =
                        built
                        && OSSL_PARAM_BLD_push_utf8_string(
                            builder, keyName("group"), text, 0) == 1
                        && OSSL_PARAM_BLD_push_octet_string(
                            builder, keyName("pub"), buffer.baseAddress, buffer.count)
                            == 1
                }
                return built ? OSSL_PARAM_BLD_to_param(builder) : nil
            }
        }
        guard let parameters else { throw .libraryFailed }
        defer { OSSL_PARAM_free(parameters) }
        guard let context = EVP_PKEY_CTX_new_from_name(nil, kind, nil) else { throw .libraryFailed }
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard EVP_PKEY_fromdata_init(context) == 1,
            EVP_PKEY_fromdata(context, &key, Int32(GH_PKEY_PUBLIC_KEY), parameters) == 1,
            let key
        else {
            ERR_clear_error()
            throw .badKey
        }
        return key
    }

    /// OpenSSL keeps the pointer to a parameter's name, so the name must outlive the list: a Swift
    /// String's bytes would be freed when the call returns.
    private static func keyName(_ name: StaticString) -> UnsafePointer<CChar> {
        UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
    }

    static func number(_ key: OpaquePointer, _ name: String, length: Int) -> [UInt8]? {
        var number: OpaquePointer?
        guard EVP_PKEY_get_bn_param(key, name, &number) == 1 else { return nil }
        defer { BN_free(number) }
        var bytes = [UInt8](repeating: 0, count: length)
        return BN_bn2binpad(number, &bytes, Int32(length)) == Int32(length) ? bytes : nil
    }

    static func text(_ key: OpaquePointer, _ name: String) -> String? {
        var text = [CChar](repeating: 0, count: 64)
        var length = 0
        guard EVP_PKEY_get_utf8_string_param(key, name, &text, text.count, &length) == 1 else {
            return nil
        }
        return String(decoding: text.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
