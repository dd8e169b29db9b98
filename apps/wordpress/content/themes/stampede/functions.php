<?php

// The runtime's port is none of the site's address.
remove_action('template_redirect', 'redirect_canonical');
