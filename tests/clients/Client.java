// SPDX-License-Identifier: Apache-2.0
import java.io.ByteArrayInputStream;
import java.net.InetSocketAddress;
import java.net.ProxySelector;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.WebSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

public class Client {
  public static void main(String[] words) throws Exception {
    String kind = words[0];
    String place = words[1];
    HttpClient.Builder builder =
        HttpClient.newBuilder()
            .sslContext(trusting(Path.of(words[2])))
            .version(
                kind.equals("http2") ? HttpClient.Version.HTTP_2 : HttpClient.Version.HTTP_1_1);
    String proxy = System.getenv("https_proxy");
    if (proxy != null && !proxy.isEmpty()) {
      URI uri = URI.create(proxy);
      builder.proxy(ProxySelector.of(new InetSocketAddress(uri.getHost(), uri.getPort())));
    }
    HttpClient client = builder.build();
    if (kind.equals("websocket")) {
      CompletableFuture<String> heard = new CompletableFuture<>();
      WebSocket socket =
          client
              .newWebSocketBuilder()
              .buildAsync(
                  URI.create("wss://" + place + "/ws"),
                  new WebSocket.Listener() {
                    @Override
                    public CompletionStage<?> onText(
                        WebSocket from, CharSequence text, boolean last) {
                      heard.complete(text.toString());
                      return null;
                    }
                  })
              .join();
      socket.sendText("hello", true);
      System.out.println(heard.get());
      System.exit(0);
    }
    HttpRequest request = HttpRequest.newBuilder(URI.create("https://" + place + "/")).build();
    System.out.println(client.send(request, HttpResponse.BodyHandlers.ofString()).body());
    System.exit(0);
  }

  private static SSLContext trusting(Path file) throws Exception {
    KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
    store.load(null);
    store.setCertificateEntry(
        "test",
        CertificateFactory.getInstance("X.509")
            .generateCertificate(new ByteArrayInputStream(Files.readAllBytes(file))));
    TrustManagerFactory trust =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(store);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, trust.getTrustManagers(), null);
    return context;
  }
}
