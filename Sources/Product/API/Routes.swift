/// The whole site map: every noun's endpoints, one line each.
package enum Routes {
    package static let all: [Endpoint] =
        TenantEndpoints.all
}
