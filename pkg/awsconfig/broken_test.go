package awsconfig_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/spate-go/spate/pkg/awsconfig"
)

func TestACallWhoseAnswerBreaksOffIsMadeAgain(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_REGION", "us-east-1")
	for name, cut := range map[string]func(net.Conn, string){
		"before it began": func(net.Conn, string) {},
		"in its body": func(c net.Conn, answer string) {
			_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(answer), answer[:len(answer)-1])
		},
		"in a body of chunks": func(c net.Conn, answer string) {
			_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s", len(answer), answer[:len(answer)-1])
		},
		"by a reset": func(c net.Conn, answer string) {
			_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", len(answer))
			_ = c.(*net.TCPConn).SetLinger(0)
		},
	} {
		for service, s := range services() {
			t.Run(service+", "+name, func(t *testing.T) {
				var asked atomic.Int64
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					if asked.Add(1) == 1 {
						c, _, err := http.NewResponseController(w).Hijack()
						if err != nil {
							t.Error(err)
							return
						}
						cut(c, s.answer)
						_ = c.Close()
						return
					}
					w.Header().Set("Content-Length", strconv.Itoa(len(s.answer)))
					_, _ = w.Write([]byte(s.answer))
				}))
				defer server.Close()
				t.Setenv("AWS_ENDPOINT_URL", server.URL)
				cfg, err := awsconfig.Load(t.Context(), "", nil)
				if err != nil {
					t.Fatal(err)
				}
				if err := s.call(t, cfg); err != nil || asked.Load() != 2 {
					t.Errorf("asked %d times: %v", asked.Load(), err)
				}
			})
		}
	}
}

// service is one of those that word their answers in a way of their own.
type service struct {
	answer string
	call   func(*testing.T, aws.Config) error
}

func services() map[string]service {
	return map[string]service{
		"sqs": {`{"QueueUrls":["q"]}`, func(t *testing.T, cfg aws.Config) error {
			_, err := sqs.NewFromConfig(cfg).ListQueues(t.Context(), &sqs.ListQueuesInput{})
			return err
		}},
		"dynamodb": {`{"TableNames":["t"]}`, func(t *testing.T, cfg aws.Config) error {
			_, err := dynamodb.NewFromConfig(cfg).ListTables(t.Context(), &dynamodb.ListTablesInput{})
			return err
		}},
		"s3": {`<ListBucketResult><Name>b</Name></ListBucketResult>`, func(t *testing.T, cfg aws.Config) error {
			client := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
			_, err := client.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String("b")})
			return err
		}},
	}
}
