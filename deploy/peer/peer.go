// What Go's usual means do with the same list: net/http, pgx from Debian, encoding/json. It runs
// the statement of the file LIST_SQL, which takes the tenant as $1, and checks no credential.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgtype"
	"github.com/jackc/pgx/v4/pgxpool"
)

type identity struct {
	ID         string     `json:"id"`
	Provider   string     `json:"provider"`
	Issuer     string     `json:"issuer"`
	Subject    string     `json:"subject"`
	Email      *string    `json:"email"`
	CreatedAt  time.Time  `json:"created_at"`
	LastUsedAt *time.Time `json:"last_used_at"`
}

type user struct {
	ID              string     `json:"id"`
	TenantID        string     `json:"tenant_id"`
	Email           string     `json:"email"`
	EmailVerifiedAt *time.Time `json:"email_verified_at"`
	Name            *string    `json:"name"`
	Role            string     `json:"role"`
	Status          string     `json:"status"`
	Source          string     `json:"source"`
	Identities      []identity `json:"identities"`
	CreatedAt       time.Time  `json:"created_at"`
	UpdatedAt       time.Time  `json:"updated_at"`
	LastSignInAt    *time.Time `json:"last_sign_in_at"`
}

type page struct {
	Items []user `json:"items"`
	Total int64  `json:"total"`
}

const digits = "0123456789abcdef"

func text(id pgtype.UUID) string {
	out := make([]byte, 0, 36)
	for at, one := range id.Bytes {
		if at == 4 || at == 6 || at == 8 || at == 10 {
			out = append(out, '-')
		}
		out = append(out, digits[one>>4], digits[one&15])
	}
	return string(out)
}

func main() {
	statement, err := os.ReadFile(os.Getenv("LIST_SQL"))
	if err != nil {
		log.Fatal(err)
	}
	configuration, err := pgxpool.ParseConfig(os.Getenv("DATABASE") + " pool_max_conns=16 pool_min_conns=16")
	if err != nil {
		log.Fatal(err)
	}
	pool, err := pgxpool.ConnectConfig(context.Background(), configuration)
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/v1/tenants/", func(w http.ResponseWriter, r *http.Request) {
		parts := strings.Split(r.URL.Path, "/")
		rows, err := pool.Query(r.Context(), string(statement), parts[3])
		if err != nil {
			http.Error(w, err.Error(), 500)
			return
		}
		defer rows.Close()
		answer := page{Items: make([]user, 0, 51)}
		for rows.Next() {
			var one user
			var sign identity
			var id, signID pgtype.UUID
			var key string
			var provider, issuer, subject *string
			var made *time.Time
			err := rows.Scan(&id, &one.Email, &key, &one.EmailVerifiedAt, &one.Name, &one.Role,
				&one.Status, &one.Source, &one.CreatedAt, &one.UpdatedAt, &one.LastSignInAt,
				&signID, &provider, &issuer, &subject, &sign.Email, &made,
				&sign.LastUsedAt, &answer.Total)
			if err != nil {
				http.Error(w, err.Error(), 500)
				return
			}
			one.ID, one.TenantID = text(id), parts[3]
			if provider != nil {
				sign.ID, sign.Provider, sign.Issuer = text(signID), *provider, *issuer
				sign.Subject, sign.CreatedAt = *subject, *made
				one.Identities = []identity{sign}
			}
			answer.Items = append(answer.Items, one)
		}
		if len(answer.Items) > 50 {
			answer.Items = answer.Items[:50]
		}
		body, err := json.Marshal(answer)
		if err != nil {
			http.Error(w, err.Error(), 500)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write(body)
	})
	log.Fatal(http.ListenAndServe(os.Getenv("LISTEN"), nil))
}
