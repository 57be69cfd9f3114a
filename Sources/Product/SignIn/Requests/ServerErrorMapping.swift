import API
import HTTP

extension Contract {
    /// What goes wrong on our side or the provider's, in the app's words for that call. `away`: for a
    /// provider that cannot be asked, where the app has other words for that.
    static func mappingServerErrors(
        _ text: String, away: String? = nil, _ work: () async throws -> Response
    ) async throws -> Response {
        do {
            return try await work()
        } catch let refusal as SignInRefusal where refusal == .noProvider {
            throw ours(Problem(.internalError, text), refusal.cause)
        } catch let refusal as SignInRefusal where refusal.isProviderAway {
            let later = [Field("retry-after", "5")]
            throw ours(Problem(.unavailable, away ?? text, fields: later), refusal.cause)
        } catch let refusal as SignInRefusal {
            throw refusal
        } catch {
            var problem = error as? Problem ?? storageProblem(error) ?? .internalError
            guard problem.status >= 500 else { throw problem }
            problem.detail = text
            throw ours(problem, problem.cause ?? "\(error)")
        }
    }

    private static func ours(_ problem: Problem, _ cause: String?) -> Problem {
        var problem = problem
        problem.cause = cause
        return problem
    }
}
