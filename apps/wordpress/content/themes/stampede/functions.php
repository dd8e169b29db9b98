<?php

// The site's address has no port, so WordPress would redirect each request.
remove_action('template_redirect', 'redirect_canonical');
